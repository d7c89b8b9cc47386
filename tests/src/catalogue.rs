//! The catalogue: plans for tests that together contain all kernels of the workspace, except those of schemes with a
//! compile test of their own. Shapes are the smallest that reach every branch of the kernels.

use ringforge::factorization::Factorization;
use ringforge::kernels::{Distribution, RandomBlock};
use ringforge::run::{AGAIN, LongPlan, Placement, plans_between_rounds};
use ringforge::{Form, Job, Limits, Modulus, Op, Order, Planner, PolyType, Quotient, Result, Ring, U256};
use ringforge_ctru::{Cntr512, Ctru768, ParameterSet};
use ringforge_ctru_prime::{CtruPrime761, ParameterSet as _};
use ringforge_e8::kernels::Components;
use ringforge_msm::Msm;
use ringforge_sm2::Sm2;
use ringforge_testkit::{NamedPlan, Scheme};

use crate::shared_out;
use ringforge_testkit::one_step;

/// The modulus of the scalar field of BLS12-381, in hexadecimal. It is below 2^255.
const BLS12_381: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

/// The largest prime below 2^256 that is 1 modulo 64, in hexadecimal. Its top bit is set.
const TOP_BIT: &str = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff3c1";

const TRANSFORMS: [Op; 4] = [Op::Forward, Op::Inverse, Op::PointMul, Op::MulAdd];

/// Returns jobs whose plans together contain the engine's kernels.
///
/// # Errors
/// Any error of constructing a ring.
pub fn jobs() -> Result<Vec<Job>> {
    let q = |q: u64| Modulus::new(q);
    let mut jobs = Vec::new();
    let mut add = |ring: &PolyType, ops: &[Op]| jobs.extend(ops.iter().map(|op| Job::new(ring, *op)));
    let all = [&TRANSFORMS[..], &[Op::Mul]].concat();
    let through = [Op::Forward, Op::Inverse, Op::Mul];

    // Residues of every width and every kind of layer; one pass and several passes; limbs that fit into one warp and
    // limbs that need several warps.
    add(&PolyType::from(Ring::trinomial(768, q(3457)?)?), &all);
    add(&PolyType::from(Ring::negacyclic(256, q(3329)?)?), &all);
    add(&PolyType::from(Ring::negacyclic(256, q(998_244_353)?)?), &all);
    add(&PolyType::from(Ring::cyclic(64, q(0x7800_0001)?)?), &all);
    add(&PolyType::from(Ring::negacyclic(64, q(4_293_918_721)?)?), &all); // 32-bit q, computed in 64-bit words
    add(&PolyType::from(Ring::negacyclic(1024, q(1_152_921_504_606_830_593)?)?), &all);
    add(&PolyType::from(Ring::negacyclic(64, q(0xffff_ffff_0000_0001)?)?), &all);
    add(&PolyType::from(Ring::negacyclic(64, q(0xffff_ffff_ff00_0001)?)?), &all);
    add(&PolyType::from(Ring::cyclic(64, Modulus::from_hex(BLS12_381)?)?), &all);
    add(&PolyType::from(Ring::cyclic(32, Modulus::from_hex(TOP_BIT)?)?), &through);
    // different leaf degrees
    add(&PolyType::from(Ring::trinomial(512, q(3457)?)?), &[Op::Mul]);
    add(&PolyType::from(Ring::trinomial(1024, q(3457)?)?), &[Op::Mul]);
    add(&PolyType::from(Ring::cyclic(24, q(97)?)?), &[Op::Mul]);
    add(&PolyType::from(Ring::cyclic(40, q(41)?)?), &[Op::Mul]);
    add(&PolyType::from(Ring::cyclic(56, q(65_521)?)?), &[Op::Mul]); // largest 16-bit prime: sums of products overflow
    add(&PolyType::from(Ring::cyclic(56, q(1_073_741_689)?)?), &[Op::Mul]); // a prime just below 2^30
    // radix 3 with moduli for which twice the sum of three products overflows a word
    add(&PolyType::from(Ring::cyclic(54, q(163)?)?), &through);
    add(&PolyType::from(Ring::cyclic(54, q(1_073_741_671)?)?), &through);
    // more coefficients per thread than the number for which registers are sized
    add(&PolyType::from(Ring::cyclic(42, q(0x7fff_ffff)?)?), &[Op::Mul]);
    // rings of the smallest degrees
    add(&PolyType::from(Ring::cyclic(1, q(3)?)?), &through);
    add(&PolyType::from(Ring::negacyclic(2, q(5)?)?), &through);
    add(&PolyType::from(Ring::cyclic(6, q(7)?)?), &through);
    // several moduli (RNS)
    add(&PolyType::from(Ring::rns(64, &[q(12_289)?, q(18_433)?])?), &all);
    add(
        &PolyType::from(Ring::rns(32, &[q(12_289)?, q(18_433)?, q(1_152_921_504_606_830_593)?])?),
        &[Op::Mul, Op::Compose, Op::Decompose],
    );
    add(&PolyType::from(Ring::rns(8, &[q(256)?, q(81)?])?), &[Op::Compose, Op::Decompose]);
    add(&PolyType::from(Ring::rns(8, &[q(u64::MAX)?])?), &[Op::Decompose]);
    // limbs with repeated moduli
    let rows = |moduli: &[Modulus], map: &[usize]| {
        Ring::new(moduli, Quotient::Negacyclic { n: 32 }).and_then(|ring| PolyType::from(ring).with_limbs(map))
    };
    add(&rows(&[q(12_289)?, q(18_433)?], &[1, 0, 0])?, &all);
    add(&rows(&[q(12_289)?, q(97)?, q(1_152_921_504_606_830_593)?], &[2, 0, 1, 0, 2])?, &all);
    add(&rows(&[q(12_289)?], &[0, 0])?, &[Op::Forward, Op::PointMul]);
    // Products via a larger NTT: of the same shape, of a longer shape with reduction modulo f, and with wide moduli.
    add(&PolyType::from(Ring::negacyclic(64, q(8192)?)?), &[Op::Mul]);
    add(&PolyType::from(Ring::prime_trinomial(17, q(4591)?)?), &[Op::Mul]);
    add(
        &PolyType::from(Ring::new(&[q(u64::MAX)?], Quotient::Sparse { n: 9, terms: vec![(8, -3), (0, 5)] })?),
        &[Op::Mul],
    );
    add(&PolyType::from(Ring::prime_trinomial(9, Modulus::new(U256::MAX)?)?), &[Op::Mul]);
    add(&high_second_term()?, &[Op::Mul]);

    let natural = PolyType::from(Ring::trinomial(768, q(3457)?)?);
    let kyber = PolyType::from(Ring::negacyclic(256, q(3329)?)?);
    for ring in [&natural, &kyber] {
        jobs.extend(TRANSFORMS.map(|op| Job::new(ring, op).order(Order::Natural)));
    }
    jobs.extend([Op::Forward, Op::Inverse].map(|op| Job::new(&kyber, op).in_place()));
    jobs.push(Job::new(&natural, Op::Forward).depth(7));

    // strided batches (several columns)
    for ring in [
        PolyType::from(Ring::cyclic(64, q(0x7800_0001)?)?).with_form(Form::Montgomery)?.strided_batch(37)?,
        PolyType::from(Ring::negacyclic(32, q(0xffff_ffff_0000_0001)?)?).accepting_any_word().strided_batch(5)?,
        PolyType::from(Ring::cyclic(64, Modulus::from_hex(BLS12_381)?)?).strided_batch(3)?,
        PolyType::from(Ring::rns(32, &[q(12_289)?, q(18_433)?])?).strided_batch(9)?,
    ] {
        jobs.push(Job::new(&ring, Op::Forward));
        jobs.push(Job::new(&ring, Op::Inverse).order(Order::Natural));
    }

    // conversions between bases whose sums of digits fit into one word, and conversions with longer sums
    let few = PolyType::from(Ring::rns(32, &[q(12_289)?, q(18_433)?, q(1_152_921_504_606_830_593)?])?);
    let many = PolyType::from(Ring::rns(32, &Modulus::ntt_primes(64, 62, 5)?)?);
    let narrow = PolyType::from(Ring::rns(32, &[q(256)?, q(81)?])?);
    for (from, to) in [(&few, &narrow), (&many, &few), (&narrow, &many)] {
        let conversions = [Op::Convert, Op::ConvertCentred, Op::ConvertFast];
        jobs.extend(conversions.map(|op| Job::new(from, op).to(to)));
    }
    // bases of few small moduli: one with the largest number of moduli whose sums fit, and one with one modulus more
    let tiny = PolyType::from(Ring::rns(32, &[q(4)?, q(3)?, q(25)?, q(49)?, q(121)?])?);
    let [eight, nine] = [8, 9].map(|count| Ring::rns(32, &Modulus::ntt_primes(64, 60, count)?).map(PolyType::from));
    let (eight, nine) = (eight?, nine?);
    jobs.push(Job::new(&eight, Op::ConvertFast).to(&tiny));
    jobs.push(Job::new(&tiny, Op::Convert).to(&eight));
    jobs.push(Job::new(&eight, Op::ConvertCentred).to(&nine));
    jobs.push(Job::new(&nine, Op::ConvertFast).to(&narrow));
    Ok(jobs)
}

/// Returns a ring modulo 2^255 in which the reduction of products modulo f takes several rounds.
fn high_second_term() -> Result<PolyType> {
    let q = Modulus::new(U256::ONE.shl_vartime(255))?;
    Ring::new(&[q], Quotient::Sparse { n: 10, terms: vec![(8, -3), (7, 1), (0, 5)] }).map(PolyType::from)
}

/// Plans products via a larger NTT for a device with little shared memory. The products then take several kernels, and
/// the reduction modulo f works in device memory.
fn lifts_in_device_memory(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let mut limits = limits.clone();
    limits.block_shared_bytes = limits.block_shared_bytes.min(512);
    let planner = Planner::new(limits);
    let plan = |ring| {
        let job = Job::new(&ring, Op::Mul);
        Ok(NamedPlan::new(format!("{job} in device memory"), planner.plan(&job)?))
    };
    [PolyType::from(Ring::prime_trinomial(17, Modulus::new(4591u32)?)?), high_second_term()?]
        .into_iter()
        .map(plan)
        .collect()
}

/// Plans for the ChaCha20 kernel that produces random bytes, in both supported lengths.
fn random_key() -> Result<Vec<NamedPlan>> {
    let plan = |(bytes, attempt)| {
        Ok(NamedPlan::new(
            format!("draw {bytes}"),
            one_step(RandomBlock::new(bytes, attempt)?, &["random_key", "blocks"])?,
        ))
    };
    [(32, 0), (64, u32::MAX)].into_iter().map(plan).collect()
}

/// The plans between the rounds of a repetition. They are for as many items as the largest batch of a test has.
fn between_rounds(limits: &Limits) -> Result<Vec<NamedPlan>> {
    const ITEMS: usize = 16;
    const NO_ITEM: u32 = u32::MAX;
    // attempts for each item of a round
    let per_item = if limits.is_cpu() { 1 } else { 3 };
    let words = |words: Vec<u32>| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    let statuses = move |seed: u64, count| {
        words((0..count).map(|i| if (seed >> (i % 64)) & 1 == 0 { AGAIN } else { i }).collect())
    };
    let inputs = [("few", 4), ("many", 148)].map(|(name, bytes)| (name.to_owned(), bytes, name == "many"));
    let outputs =
        [("few out", 4), ("many out", 148), ("statuses", 4)].map(|(name, bytes)| (name.to_owned(), bytes, false));
    let planner = Planner::new(limits.clone());
    let [list, take, put] = plans_between_rounds(&planner, ITEMS, [inputs.into(), outputs.into()])?;
    let round = move || ("round", words(vec![5, per_item]));
    let capacity = put.arg("statuses of attempts").map_or(0, |arg| arg.bytes / 4) as u32;
    Ok(vec![
        NamedPlan::new("unfinished items", list)
            .sampled(move |seed, batch| vec![("statuses", statuses(seed, (ITEMS * batch) as u32))]),
        NamedPlan::new("inputs of attempts", take).sampled(move |seed, _| {
            let list = (0..ITEMS as u32).map(|place| (place * 5 + seed as u32 % 16) % 16).collect();
            vec![("list", words(list)), round()]
        }),
        NamedPlan::new("outputs of attempts", put).sampled(move |seed, batch| {
            let place = |i: u32| if i % 4 == 3 { NO_ITEM } else { (i * 5 + seed as u32 % 16) % 16 };
            vec![
                ("places", words((0..batch as u32).map(place).collect())),
                round(),
                ("statuses of attempts", statuses(seed.rotate_left(9), capacity)),
            ]
        }),
    ])
}

/// Plans for samplers in rings of every width. The key is a run's `RandomKey` or one seed per item. Thread blocks loop
/// several times, and some seeds and outputs are views (parts of larger values).
fn samplers(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let q = |q: u64| Modulus::new(q);
    let rows = |moduli: &[Modulus], map: &[usize], n: usize| {
        Ring::new(moduli, Quotient::Cyclic { n }).and_then(|ring| PolyType::from(ring).with_limbs(map))
    };
    let rings = [
        rows(&[q(2)?, q(65_521)?], &[0, 1, 0], 1026)?,
        rows(&[q(2_013_265_921)?, q(97)?], &[0, 1], 64)?.with_form(Form::Montgomery)?,
        rows(&[q(1_152_921_504_606_830_593)?, q(1 << 63)?], &[1, 0, 1], 33)?,
        rows(&[Modulus::from_hex(BLS12_381)?, q(1 << 40)?], &[1, 0], 70)?,
    ];
    let planner = Planner::new(limits.clone());
    let mut plans = Vec::new();
    for (ring, from_seeds) in rings.iter().zip([false, true, false, true]) {
        let p = planner.pipeline("samples");
        let key = if from_seeds { p.bytes("seeds", 64).part(16..48) } else { p.input("random_key") };
        let weight = Distribution::FixedWeight { weight: ring.degree() / 3 };
        let binomial = Distribution::Binomial { eta: 20 };
        for (name, distribution) in [("binomial", binomial), ("weight", weight), ("uniform", Distribution::Uniform)] {
            p.output(name, p.sample(ring, distribution, key));
        }
        let widest = ring.basis().iter().position(|q| q.width() == ring.width()).unwrap_or_default();
        let one = ring.limbs(widest..widest + 1)?;
        let both = PolyType::from(Ring::new(one.basis(), one.ring().quotient().clone())?)
            .with_limbs(&[0, 0])?
            .with_form(one.form())?;
        let parts = [Distribution::Gaussian { sigma: 3.2 }, Distribution::Uniform].map(|d| p.sample(&one, d, key));
        p.output("joined", p.join(both, &parts));
        plans.push(NamedPlan::new(format!("samples in {ring}"), p.build()?));
    }
    Ok(plans)
}

/// A plan that runs kernels on views (parts of larger values): every kernel that accepts views, and one that does not,
/// so that its input is copied. One operand is shared by all items.
fn views(limits: &Limits) -> Result<NamedPlan> {
    let planner = Planner::new(limits.clone());
    let p = planner.pipeline("views");
    let moduli = [12_289u32, 18_433, 40_961].into_iter().map(Modulus::new).collect::<Result<Vec<_>>>()?;
    let ring = PolyType::from(Ring::rns(64, &moduli)?);
    let (whole, left) = (&ring, ring.limbs(0..2)?);
    let values = left.evaluations_after(6, Order::DigitReversed);
    let (a, key) = (p.coefficients("a", &ring), p.shared("key", left.bytes()).holding(values));
    let [x, last] = [a.limbs(0..2), a.limbs(2..3)];
    let (y, z) = (x.forward(), (x * x).forward());
    p.output("products", p.join(whole.clone(), &[(y * key).inverse(), last * last]));
    p.output("sums", p.join(whole.clone(), &[key.mul_add(y, z).inverse(), last]));
    let converted = p.job(&Job::new(&left, Op::ConvertCentred).to(&ring.limbs(2..3)?), &[x]);
    p.output("converted", p.join(whole.clone(), &[x, converted]));
    let integers = p.job(&Job::new(&left, Op::Compose), &[x]);
    p.output("residues", p.join(whole, &[p.job(&Job::new(&left, Op::Decompose), &[integers]), last]));
    Ok(NamedPlan::new("views", p.build()?))
}

/// Plans for sums and multiples of elements with residues of 16, 64 and 256 bits. Operands include views of some limbs,
/// and one that all items share.
fn sums(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let planner = Planner::new(limits.clone());
    let few = |moduli: &[u64], n| {
        Ring::rns(n, &moduli.iter().map(|&q| Modulus::new(q)).collect::<Result<Vec<_>>>()?).map(PolyType::from)
    };
    let wide = PolyType::from(Ring::prime_trinomial(3, Modulus::new(U256::MAX)?)?);
    let even = PolyType::from(Ring::negacyclic(2, Modulus::new(U256::ONE.shl_vartime(200))?)?);
    let any = few(&[12_289, 256], 600)?.accepting_any_word();
    // the largest moduli that Shoup multiplication supports, with any words as input
    let longest = few(&[(1 << 63) - 1, (1 << 63) - 25], 16)?.accepting_any_word();
    let rings =
        [longest, few(&[256, 81], 7)?, few(&[12_289, 97], 16)?, few(&[u64::MAX, 7, 1 << 63], 2)?, any, wide, even];
    let plan = |ring: PolyType| {
        let p = planner.pipeline(format!("sums in {ring}"));
        let (a, b) = (p.coefficients("a", &ring), p.coefficients("b", &ring));
        let shared = p.shared("shared", ring.bytes()).holding(&ring);
        p.output("sum", a + b);
        p.output("difference", shared - a);
        p.output("multiple", (-b).scale(&[U256::MAX]));
        let last = ring.basis().len() - 1;
        let [x, y] = [a, b].map(|value| value.limbs(last..last + 1));
        p.output("limb", x.scale(&[U256::from(5u32)]) - y);
        Ok(NamedPlan::new(format!("sums in {ring}"), p.build()?))
    };
    rings.into_iter().map(plan).collect()
}

/// A plan with automorphisms, quotients and inner products, on whole elements and on views of some limbs.
fn between_transforms(limits: &Limits) -> Result<NamedPlan> {
    let planner = Planner::new(limits.clone());
    let p = planner.pipeline("between transforms");
    let moduli = [12_289u32, 18_433, 40_961].into_iter().map(Modulus::new).collect::<Result<Vec<_>>>()?;
    let ring = PolyType::from(Ring::rns(64, &moduli)?);
    let values = |ring: PolyType| ring.evaluations_after(6, Order::DigitReversed);
    let (a, b) = (p.coefficients("a", &ring), p.elements("b", values(ring.clone())));
    let b_shared = p.shared("factor", ring.bytes()).holding(values(ring.clone()));
    // keys with one more limb than the elements, and one more key per set than there are elements
    let keys = p.shared("keys", 8 * ring.bytes()).holding(values(ring.vector(8)?));
    p.output("image", a.automorphism(5));
    p.output("images", b.limbs(1..3).automorphism(127));
    p.output("quotients", b.divide_round(1));
    let raised = b.limbs(0..2).raise(1, &ring);
    p.output("quotients side by side", raised.vector().divide_round(1));
    p.output("sums of raised digits", raised.inner_product(keys, 2));
    let pair = p.elements("pair", values(ring.vector(2)?));
    p.output("products", (pair.each() * b_shared).together());
    let digits = values(ring.limbs(0..2)?.vector(3)?);
    let digits = p.join(digits, &[b.limbs(0..2), (b + b).limbs(0..2), (-b).limbs(0..2)]);
    p.output("sums", digits.inner_product(&ring.limbs(0..2)?, keys, 2));
    Ok(NamedPlan::new("between transforms", p.build()?))
}

/// Plans for digit decomposition and for extension to a larger degree, for every width, on whole elements and on views
/// of one limb.
fn digits_and_extensions(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let planner = Planner::new(limits.clone());
    let few = |moduli: &[u64], n| {
        Ring::rns(n, &moduli.iter().map(|&q| Modulus::new(q)).collect::<Result<Vec<_>>>()?).map(PolyType::from)
    };
    let bls = PolyType::from(Ring::negacyclic(5, Modulus::from_hex(BLS12_381)?)?);
    let top = PolyType::from(Ring::negacyclic(64, Modulus::from_hex(TOP_BIT)?)?);
    let rings = [
        (few(&[256, 81], 5)?, 3, &bls),
        (few(&[12_289, 97], 64)?, 13, &top),
        (few(&[998_244_353, 7], 64)?.with_form(Form::Montgomery)?, 16, &top),
        (few(&[u64::MAX, 7, 1 << 63], 5)?.accepting_any_word(), 1, &bls),
        (few(&[1_152_921_504_606_830_593, 12_289], 64)?, 63, &top),
    ];
    let plan = |(ring, bits, wide): (PolyType, u32, &PolyType)| {
        let p = planner.pipeline(format!("digits in {ring}"));
        let (a, last) = (p.coefficients("a", &ring), ring.basis().len() - 1);
        let widest = ring.basis().iter().position(|q| q.width() == ring.width()).unwrap_or_default();
        let one = ring.limbs(widest..widest + 1)?;
        p.output("digits", a.digits(bits, &ring));
        p.output("digits of a limb", a.limbs(widest..widest + 1).digits(bits, wide));
        let digits = a.limbs(widest..widest + 1).digits(one.basis()[0].bits().min(63), &ring);
        p.output("sum with a digit", a + digits.limbs(0..last + 1));
        let longer = |ring: &PolyType, n| {
            let longer = PolyType::from(Ring::rns(n, ring.basis())?).with_form(ring.form())?;
            Ok(if ring.accepts_any_word() { longer.accepting_any_word() } else { longer })
        };
        for n in [2, 3].map(|times| times * ring.degree() + times % 2) {
            p.output(&format!("extended to {n}"), a.extend(&longer(&ring, n)?));
            p.output(&format!("limb extended to {n}"), a.limbs(widest..widest + 1).extend(&longer(&one, n)?));
        }
        let b = p.coefficients("b", wide);
        p.output("wide and extended", b.extend(&longer(wide, wide.degree() + 1)?));
        Ok(NamedPlan::new(format!("digits in {ring}"), p.build()?))
    };
    rings.into_iter().map(plan).collect()
}

/// Plans for blocks of evaluations that are distributed over several devices, for residues of 16, 32 and 256 bits.
fn blocks(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let planner = Planner::new(limits.clone());
    let rings = [
        PolyType::from(Ring::negacyclic(1 << 10, Modulus::new(3329u32)?)?),
        PolyType::from(Ring::cyclic(1 << 10, Modulus::new(998_244_353u32)?)?),
        PolyType::from(Ring::cyclic(1 << 10, Modulus::from_hex(BLS12_381)?)?),
    ];
    let plan = |ring: PolyType| {
        let plan = LongPlan::new(&planner, &ring, 2)?.rows_each(2)?.placed(Placement::Native, Placement::Blocks);
        let block = plan.plans().last().cloned();
        Ok(block.map(|block| NamedPlan::new(format!("blocks of values in {ring}"), block)))
    };
    rings.into_iter().filter_map(|ring| plan(ring).transpose()).collect()
}

/// Sums of digits that are raised to a larger basis. The last digit has fewer limbs than the others. With 512
/// coefficients, all threads of a block convert the same digit, which they then read from shared memory.
fn raised_digits(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let plan = |(n, bits): (usize, u32)| {
        let to = PolyType::from(Ring::rns(n, &Modulus::ntt_primes(2 * n as u64, bits, 6)?)?);
        let (from, keys) = (to.limbs(0..5)?, to.vector(6)?);
        let p = Planner::new(limits.clone()).pipeline("sums of raised digits");
        let keys = p.shared("keys", keys.bytes()).holding(keys.evaluations(Order::DigitReversed)?);
        let [a, b] = ["a", "b"].map(|name| p.evaluations(name, &from, Order::DigitReversed));
        let digits = a.raise(2, &to);
        p.output("sums", digits.inner_product(keys, 2));
        let numbers: Vec<U256> = (3..8u32).map(U256::from).collect();
        let image = digits.automorphism(5);
        p.output("images", image.clone().plus(b, &numbers, &[]).inner_product(keys, 2));
        let pair = p.evaluations("pair", &from.vector(2)?, Order::DigitReversed);
        p.output("with a constant", image.plus(pair, &numbers, &numbers).inner_product(keys, 2));
        Ok(NamedPlan::new(format!("sums of raised digits, {n} coefficients of {bits} bits"), p.build()?))
    };
    [(64, 30), (512, 30), (512, 50), (64, 60), (64, 62)].into_iter().map(plan).collect()
}

/// Plans for inner products of more terms than an accumulator holds, for tensor products, and for automorphisms, for
/// residues of 32, 64 and 256 bits.
fn inner_products(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let planner = Planner::new(limits.clone());
    let q = |q: u64| Modulus::new(q);
    let rings = [
        PolyType::from(Ring::negacyclic(16, q(65_537)?)?),
        PolyType::from(Ring::negacyclic(64, q(998_244_353)?)?).accepting_any_word(),
        PolyType::from(Ring::negacyclic(64, q(0x7f00_0001)?)?),
        PolyType::from(Ring::rns(32, &[q(1_152_921_504_606_830_593)?, q(12_289)?])?),
        PolyType::from(Ring::negacyclic(8, q(0xffff_ffff_0000_0001)?)?),
        PolyType::from(Ring::negacyclic(8, q(0xffff_ffff_ff00_0001)?)?),
        PolyType::from(Ring::cyclic(8, Modulus::from_hex(BLS12_381)?)?),
        PolyType::from(Ring::cyclic(8, Modulus::from_hex(TOP_BIT)?)?),
    ];
    let plan = |ring: PolyType| {
        let p = planner.pipeline(format!("inner products in {ring}"));
        let values = ring.evaluations(Order::DigitReversed)?;
        let (digits, keys) = (values.vector(13)?, values.vector(26)?);
        let keys = p.shared("keys", keys.bytes()).holding(keys);
        p.output("sums", p.elements("digits", digits).inner_product(&ring, keys, 2));
        let pair = p.elements("pair", values.vector(2)?);
        p.output("sums of pairs", p.elements("pairs", values.vector(6)?).inner_product(ring.vector(2)?, keys, 2));
        let [tensor, square] = pair.tensor(pair);
        p.output("tensor product", (tensor.each() + pair.each()).together());
        p.output("square", square);
        p.output("image", p.coefficients("a", &ring).automorphism(5));
        p.output("image of values", p.elements("b", values).automorphism(5));
        Ok(NamedPlan::new(format!("inner products in {ring}"), p.build()?))
    };
    rings.into_iter().map(plan).collect()
}

/// Plans in which element-wise steps are fused to every kernel that supports it, for residues of every width. The plans
/// reach the maximum number of fused operands and steps.
fn fused(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let planner = Planner::new(limits.clone());
    let q = |q: u64| Modulus::new(q);
    let rings = [
        PolyType::from(Ring::negacyclic(256, q(3329)?)?),
        PolyType::from(Ring::negacyclic(64, q(998_244_353)?)?).accepting_any_word(),
        PolyType::from(Ring::negacyclic(64, q(0x7f00_0001)?)?),
        PolyType::from(Ring::rns(32, &[q(1_152_921_504_606_830_593)?, q(12_289)?])?),
        PolyType::from(Ring::negacyclic(1024, q(1_125_899_906_826_241)?)?),
        PolyType::from(Ring::negacyclic(8, q(0xffff_ffff_0000_0001)?)?),
        PolyType::from(Ring::negacyclic(8, q(0xffff_ffff_ff00_0001)?)?),
        PolyType::from(Ring::cyclic(8, Modulus::from_hex(BLS12_381)?)?),
        PolyType::from(Ring::cyclic(8, Modulus::from_hex(TOP_BIT)?)?),
    ];
    let plan = |ring: PolyType| {
        let p = planner.pipeline("fused");
        let factorization = Factorization::of(&ring, None)?;
        let values = |order| ring.evaluations_after(factorization.depth(), order);
        let (a, b) = (p.coefficients("a", &ring), p.coefficients("b", &ring));
        let [v, w, x] = ["v", "w", "x"].map(|name| p.elements(name, values(Order::DigitReversed)));
        let natural = p.elements("natural", values(Order::Natural));
        let shared = p.shared("shared", ring.bytes()).holding(&ring);
        let [five, most] = [U256::from(5u32), U256::MAX].map(|number| [number]);
        p.output("transform", -(v - a.forward()).scale(&five) + w);
        p.output("in natural order", b.forward_to(Order::Natural).scale(&most) - natural);
        p.output("inverse", shared - x.inverse());
        p.output("inverse of a product", (v * x).inverse().scale(&five) - a);
        p.output("inverse of a square in natural order", (natural * natural).inverse());
        p.output("product", (a * b).scale(&most) + a);
        p.output("sum of products", v * w + w * x - v);
        p.output("image", b - a.automorphism(5).scale(&five));
        p.output("sum", b - (a + b));
        if factorization.leaf_degree() == 1 {
            p.output("inner product", w.inner_product(&ring, x, 1) - v);
        }
        Ok(NamedPlan::new(format!("fused in {ring}"), p.build()?))
    };
    let mut plans = rings.into_iter().map(plan).collect::<Result<Vec<_>>>()?;
    // fused steps after quotients, with few small moduli and with larger ones
    for bits in [60, 62] {
        let ring = PolyType::from(Ring::rns(32, &Modulus::ntt_primes(64, bits, 5)?)?);
        let p = planner.pipeline("fused");
        let left = p.coefficients("left", &ring.limbs(0..3)?);
        p.output("quotients", p.coefficients("a", &ring).divide_round(2) - left);
        plans.push(NamedPlan::new(format!("fused quotients in {ring}"), p.build()?));
    }
    Ok(plans)
}

/// Returns all plans of the catalogue for a device with these limits. Transforms that are split over several kernels
/// come first, because they reach most barriers. Plans of jobs, random bytes, the workspace's schemes, and several
/// devices follow.
///
/// # Errors
/// Any planning error.
pub fn catalogue(limits: &Limits) -> Result<Vec<NamedPlan>> {
    Ok([of_one_size(limits)?, Sm2::plans(limits)?, Msm::plans(limits)?, blocks(limits)?].concat())
}

/// Returns the catalogue for compile checks: the plans of [`catalogue`], but with those of SM2 and of multi-scalar
/// multiplication at full size, and additional plans for large matrices.
///
/// # Errors
/// Any planning error.
pub fn at_full_size(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let full = [ringforge_sm2::full_plans(limits)?, ringforge_msm::full_plans(limits)?].concat();
    Ok([of_one_size(limits)?, full, blocks(limits)?, matrices(limits)?].concat())
}

/// Plans for strided batches that are row-major matrices, at the lengths that provers use for low-degree extensions.
fn matrices(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let ring =
        |q: u64, form| PolyType::from(Ring::cyclic(1 << 20, Modulus::new(q)?)?).with_form(form)?.strided_batch(64);
    let fields = [ring(0x7800_0001, Form::Montgomery)?, ring(0xffff_ffff_0000_0001, Form::Plain)?];
    let transforms = [(Op::Forward, Order::DigitReversed), (Op::Inverse, Order::Natural)];
    let all = fields.iter().flat_map(|ring| transforms.map(|(op, order)| Job::new(ring, op).order(order)));
    all.map(|job| NamedPlan::of_job(&job, limits)).collect()
}

fn of_one_size(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let mut plans = shared_out::transforms(limits)?;
    plans.extend(jobs()?.iter().map(|job| NamedPlan::of_job(job, limits)).collect::<Result<Vec<_>>>()?);
    plans.extend(lifts_in_device_memory(limits)?);
    plans.push(views(limits)?);
    plans.extend(sums(limits)?);
    plans.push(between_transforms(limits)?);
    plans.extend(inner_products(limits)?);
    plans.extend(raised_digits(limits)?);
    plans.extend(fused(limits)?);
    plans.extend(digits_and_extensions(limits)?);
    plans.extend(random_key()?);
    plans.extend(between_rounds(limits)?);
    plans.extend(samplers(limits)?);
    // One parameter set with two limbs per warp and one with one limb per warp. The scheme's own tests run all
    // parameter sets.
    for set in [Cntr512::PARAMETERS, Ctru768::PARAMETERS] {
        plans.extend(ringforge_ctru::named_plans(&set, limits)?);
    }
    plans.extend(ringforge_ctru_prime::named_plans(&CtruPrime761::PARAMETERS, limits)?);
    plans.extend(Components::plans(limits)?);
    Ok(plans)
}
