//! Transforms for tests that are split over several kernels, or over the thread blocks of a cluster, at small sizes.
//! They are planned as if thread blocks were tiny, or as if clusters were faster at such sizes.

use ringforge::factorization::Factorization;
use ringforge::tuning::{Choice, Tuning};
use ringforge::{Device, Job, Limits, Modulus, Op, Order, Planner, PolyType, Program, Quotient, Result, Ring};
use ringforge_testkit::naive;
use ringforge_testkit::{Named, NamedPlan, Scheme};

/// Returns the limits of a device with this number of threads and this much shared memory per block.
fn tiny(threads: u32, shared_bytes: u32) -> Limits {
    let mut limits = Limits::of_capability(90);
    limits.block_threads = Some(threads);
    limits.block_shared_bytes = shared_bytes;
    limits
}

/// A ring whose transforms are split, with the expected number of kernels. The split comes from `limits`, a device
/// whose thread blocks are too small for one limb, or from `choice`, a tuning choice of clusters.
struct Shared {
    ring: PolyType,
    limits: Limits,
    choice: Choice,
    kernels: usize,
}

impl Shared {
    fn of(ring: Result<PolyType>, limits: Limits, kernels: usize) -> Result<Self> {
        Ok(Self { ring: ring?, limits, choice: Choice::default(), kernels })
    }

    /// Splits limbs over clusters of `blocks` thread blocks, with `per_thread` residues per thread.
    fn in_clusters(ring: Result<PolyType>, blocks: usize, per_thread: usize) -> Result<Self> {
        let mut choice = Choice::default();
        (choice.cluster, choice.per_thread) = (Some(blocks), Some(per_thread));
        Ok(Self { choice, ..Self::of(ring, Limits::of_capability(90), 1)? })
    }

    fn planner(&self) -> Planner {
        let mut tuning = Tuning::default();
        [Op::Forward, Op::Inverse].iter().for_each(|op| tuning.choose(&Job::new(&self.ring, *op), self.choice));
        Planner::new(self.limits.clone()).tuned(tuning)
    }

    /// Returns the plan of a job with its expected output.
    fn plan(&self, job: &Job) -> Result<NamedPlan> {
        let named = NamedPlan::new(job.to_string(), self.planner().plan(job)?);
        // for a product, the pointwise product is part of the first kernel of the inverse transform
        let kernels = if job.op == Op::Mul { 3 * self.kernels } else { self.kernels };
        assert_eq!(named.plan.kernels().len(), kernels, "{}", named.plan);
        let (job, factorization, whole) = (job.clone(), Factorization::of(&job.poly, None)?, whole(job)?);
        let output = if job.in_place {
            "data"
        } else if job.op == Op::Mul {
            "product"
        } else {
            "to"
        };
        Ok(named.expecting(move |batch, inputs| vec![(output, expected(&job, &factorization, &whole, batch, inputs))]))
    }

    /// Returns the plans of the forward and the inverse transform, out of place.
    fn transforms(&self, order: Order) -> Result<Vec<NamedPlan>> {
        [Op::Forward, Op::Inverse].into_iter().map(|op| self.plan(&Job::new(&self.ring, op).order(order))).collect()
    }

    /// Returns a plan of two kernels: a forward transform with a fused sum, and an inverse transform with a pointwise
    /// product before it and a sum after it.
    fn fused(&self) -> Result<NamedPlan> {
        let name = format!("sums in {} in clusters", self.ring);
        let p = self.planner().pipeline(name.clone());
        let [a, b] = ["a", "b"].map(|name| p.evaluations(name, &self.ring, Order::DigitReversed));
        let c = p.coefficients("c", &self.ring);
        p.output("values", c.forward() + a);
        p.output("product", (a * b).inverse() - c);
        let plan = p.build()?;
        assert_eq!(plan.kernels().len(), 2, "{plan}");
        Ok(NamedPlan::new(name, plan))
    }

    /// Returns the plans of both transforms in both orders, out of place and in place.
    fn all_transforms(&self) -> Result<Vec<NamedPlan>> {
        let mut plans = [self.transforms(Order::DigitReversed)?, self.transforms(Order::Natural)?].concat();
        for op in [Op::Forward, Op::Inverse] {
            for order in [Order::DigitReversed, Order::Natural] {
                plans.push(self.plan(&Job::new(&self.ring, op).order(order).in_place())?);
            }
        }
        Ok(plans)
    }
}

/// Compiles a job for the CPU, where the transform is not split.
fn whole(job: &Job) -> Result<Program> {
    let device = Device::cpu();
    device.compile(&Planner::new(device.limits().clone()).plan(job)?)
}

/// Returns the expected output of a job. Forward transforms and products come from the oracle, the naive implementation
/// in [`naive`]. The output of an inverse transform is that of the unsplit transform on the CPU; the oracle's forward
/// transform must map it back to the input.
fn expected(job: &Job, factorization: &Factorization, whole: &Program, batch: usize, inputs: &Named) -> Vec<u8> {
    let (ring, plain) = (&job.poly, |bytes: &[u8]| naive::to_plain(&job.poly, bytes));
    let forward = |bytes: &[u8]| naive::to_stored(ring, &naive::forward(ring, factorization, job.order, &plain(bytes)));
    match inputs.values().collect::<Vec<_>>()[..] {
        [a, b] => naive::to_stored(ring, &naive::mul(ring, &plain(a), &plain(b))),
        [a] if job.op == Op::Forward => forward(a),
        [a] => {
            let mut out = a.clone();
            let call = whole.on_host(batch);
            let call = match job.in_place {
                true => call.output("data", &mut out),
                false => call.input("from", a).output("to", &mut out),
            };
            call.run().expect("the CPU runs it in one piece");
            let reduced = naive::to_stored(ring, &plain(a));
            assert!(forward(&out) == reduced, "{job} on the CPU, in one piece");
            out
        }
        _ => unreachable!("{job} has other arguments"),
    }
}

/// 60-bit primes with roots of unity for negacyclic rings of degree 2^16.
const WIDE: [u64; 2] = [1_152_921_504_606_584_833, 1_152_921_504_598_720_513];

/// A ring with several 64-bit moduli. Between kernels, residues stay lazy, below a multiple of q.
fn several() -> Result<Shared> {
    Shared::of(
        Ring::rns(1024, &[Modulus::new(WIDE[0])?, Modulus::new(WIDE[1])?]).map(PolyType::from),
        tiny(4, 1 << 10),
        2,
    )
}

/// A 64-bit ring whose transform takes three kernels. A tile, the part of a limb that one thread block computes, has
/// several nodes above it in the middle kernel. The words of a tile have a stride.
fn three() -> Result<Shared> {
    Shared::of(Ring::negacyclic(512, Modulus::new(WIDE[0])?).map(PolyType::from), tiny(4, 256), 3)
}

/// A 16-bit ring with `Layer::Sixth` and leaf degree 2. Residues are in [0, q) between kernels.
fn small() -> Result<Shared> {
    Shared::of(Ring::trinomial(768, Modulus::new(3457u32)?).map(PolyType::from), tiny(8, 1 << 10), 2)
}

/// Rings for the other arithmetics, which differ in the range of residues between kernels.
fn others() -> Result<Vec<Shared>> {
    let q = |q: u64| Modulus::new(q);
    let bls12_381 = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001")?;
    let full = Ring::new(&[q(0xffff_ffff_0000_0001)?], Quotient::Cyclic { n: 256 }).map(PolyType::from);
    let rings: [Result<Shared>; 9] = [
        Shared::of(Ring::negacyclic(256, q(998_244_353)?).map(PolyType::from), tiny(8, 1 << 10), 2), // 32-bit, lazy between kernels
        Shared::of(Ring::negacyclic(256, q(0x7800_0001)?).map(PolyType::from), tiny(8, 1 << 10), 2), // 31 bits, below 2q between kernels
        Shared::of(Ring::cyclic(486, q(1_073_738_269)?).map(PolyType::from), tiny(2, 1 << 10), 2),   // radix 3
        Shared::of(Ring::negacyclic(256, q(562_949_953_408_001)?).map(PolyType::from), tiny(4, 1 << 10), 2), // FP64 arithmetic
        Shared::of(full.clone(), tiny(4, 1 << 10), 2),
        Shared::of(Ring::cyclic(256, q(0xffff_ffff_ff00_0001)?).map(PolyType::from), tiny(4, 1 << 10), 2), // below q between kernels
        // accepts any words as input, which only the first kernel must reduce
        Shared::of(full.map(|ring| ring.accepting_any_word()), tiny(4, 1 << 10), 2),
        Shared::of("998244353 : x^256 + 1 : montgomery, any word".parse(), tiny(8, 1 << 10), 2),
        Shared::of(Ring::cyclic(64, bls12_381).map(PolyType::from), tiny(8, 2 << 10), 2),
    ];
    rings.into_iter().collect()
}

/// Transforms in clusters, in several 64-bit arithmetics and one 32-bit arithmetic. The first pass has one or several
/// layers, and further passes follow. Residues either stay in their warp or not. Empty for a device without clusters.
fn clusters(limits: &Limits) -> Result<Vec<Shared>> {
    if limits.cluster_blocks == 1 {
        return Ok(Vec::new());
    }
    let q = |q: u64| Modulus::new(q);
    let wide = || WIDE.into_iter().map(Modulus::new).collect::<Result<Vec<_>>>();
    let full = Ring::new(&[q(0xffff_ffff_0000_0001)?], Quotient::Cyclic { n: 256 }).map(PolyType::from);
    let rings: [Result<Shared>; 8] = [
        Shared::in_clusters(Ring::rns(1024, &wide()?).map(PolyType::from), 2, 8),
        Shared::in_clusters(Ring::rns(256, &wide()?).map(PolyType::from), 4, 8),
        Shared::in_clusters(Ring::negacyclic(512, q(WIDE[0])?).map(PolyType::from), 8, 8),
        Shared::in_clusters(
            Ring::negacyclic(256, Modulus::friendly_ntt_primes(256, 60, 1)?[0]).map(PolyType::from),
            4,
            8,
        ),
        Shared::in_clusters(Ring::negacyclic(1024, q(562_949_953_408_001)?).map(PolyType::from), 2, 8), // FP64 arithmetic
        Shared::in_clusters(full.map(|ring| ring.accepting_any_word()), 4, 8),
        Shared::in_clusters(Ring::cyclic(256, q(0xffff_ffff_ff00_0001)?).map(PolyType::from), 2, 4),
        Shared::in_clusters(Ring::negacyclic(256, q(0x7800_0001)?).map(PolyType::from), 4, 8),
    ];
    rings.into_iter().collect()
}

/// Returns transforms in two kernels and transforms in clusters, for the catalogue.
///
/// # Errors
/// Any error of constructing a ring or of planning.
pub fn transforms(limits: &Limits) -> Result<Vec<NamedPlan>> {
    let several = several()?;
    let mut plans = [several.transforms(Order::DigitReversed)?, several.transforms(Order::Natural)?].concat();
    plans.iter_mut().for_each(|named| named.name += " in two kernels");
    for shared in clusters(limits)?.into_iter().take(2) {
        let mut transforms = shared.transforms(Order::DigitReversed)?;
        transforms.iter_mut().for_each(|named| named.name += " in clusters");
        plans.extend(transforms);
        plans.push(shared.fused()?);
    }
    Ok(plans)
}

/// Transforms that are split over several kernels or over clusters, and a product that uses them.
#[derive(Debug)]
pub struct SharedOut;

impl Scheme for SharedOut {
    const NAME: &'static str = "shared out";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        let several = several()?;
        let mut plans = [several.all_transforms()?, small()?.all_transforms()?].concat();
        plans.push(several.plan(&Job::new(&several.ring, Op::Mul))?);
        plans.extend(three()?.transforms(Order::DigitReversed)?);
        for other in others()? {
            plans.extend(other.transforms(Order::DigitReversed)?);
        }
        for shared in clusters(limits)? {
            plans.extend(shared.transforms(Order::DigitReversed)?);
            plans.push(shared.fused()?);
        }
        Ok(plans)
    }
}

/// The transforms of [`SharedOut`] with the most complicated addressing.
#[derive(Debug)]
pub struct Addressing;

impl Scheme for Addressing {
    const NAME: &'static str = "addressing of what is shared out";

    fn plans(_: &Limits) -> Result<Vec<NamedPlan>> {
        Ok([small()?.transforms(Order::Natural)?, three()?.transforms(Order::DigitReversed)?].concat())
    }
}
