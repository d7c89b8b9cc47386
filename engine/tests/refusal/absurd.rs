//! Absurd arguments: unreduced residues, empty quantities, sizes beyond any memory. They never cause a panic, even with
//! overflow checks. Absurd quantities and sizes cause errors. So do unreduced residues in functions that check
//! residues; other operations on such residues complete.

use proptest::collection::vec;
use proptest::prelude::*;
use ringforge::factorization::Factorization;
use ringforge::kernels::{Arithmetic, KernelLayout, Port};
use ringforge::words::Transform;
use ringforge::{Device, Error, Job, Limits, Modulus, Op, Planner, PolyType, Result, Ring, U256};
use ringforge_testkit::one_step;

use super::kernels::Fake;
use super::refused;

/// Rings with moduli of 12 to 256 bits; products in the last one use a larger NTT.
const RINGS: [&str; 9] = [
    "3329:x^4+1",
    "65521:x^8-1",
    "1071513601:x^6-1",
    "8380417:x^4-x^2+1",
    "1125899906826241:x^4+1",
    "18446744069414584321:x^4-1",
    "0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001:x^4-1",
    "0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff43:x^2-1",
    "4294967291,4096:x^5-x-1",
];

const OPS: [Op; 8] =
    [Op::Forward, Op::Inverse, Op::PointMul, Op::MulAdd, Op::Mul, Op::Compose, Op::Decompose, Op::ConvertCentred];

/// Runs each operation of `OPS` that the ring supports on memory filled with these bytes, with the plans for a CPU and
/// for a GPU.
fn run_all(ring: &PolyType, contents: &[u8]) -> Result<()> {
    let device = Device::cpu();
    for op in OPS {
        let job = Job::new(ring, op);
        let job = if op == Op::ConvertCentred { job.to(ring) } else { job };
        for limits in [Limits::cpu(), Limits::h200()] {
            let Ok(plan) = Planner::new(limits).plan(&job) else { continue };
            // allocated as words, so that residues of all widths are aligned
            let mut memory: Vec<Vec<u64>> = plan.args().iter().map(|arg| vec![0; arg.bytes.div_ceil(4)]).collect();
            for words in &mut memory {
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
                bytes.iter_mut().zip(contents.iter().cycle()).for_each(|(to, byte)| *to = *byte);
            }
            let program = device.compile(&plan)?;
            let args = memory.iter_mut().zip(plan.args());
            let args = args.map(|(words, arg)| (arg, &mut bytemuck::cast_slice_mut::<_, u8>(words)[..2 * arg.bytes]));
            args.fold(program.on_host(2), |call, (arg, bytes)| call.output(&arg.name, bytes)).run()?;
        }
    }
    Ok(())
}

#[test]
fn residues_that_are_not_reduced() -> Result<()> {
    for text in RINGS {
        let ring: PolyType = text.parse()?;
        for contents in [&[0xff][..], &[0xff, 0xff, 0xff, 0x7f, 0x80], &[0, 0, 0, 0, 0, 0, 0, 0x80]] {
            run_all(&ring, contents)?;
        }
        refused!(ring.check(&vec![0xffu8; ring.bytes()]), Error::NotReduced { index: 0, .. });
        ring.check(&vec![0u8; 2 * ring.bytes()])?;
        refused!(ring.check(&vec![0u8; ring.bytes() + 1]), Error::Length { .. });
    }
    Ok(())
}

/// Functions on single limbs, which do not check that residues are reduced, return without a panic.
#[test]
fn rows_that_are_not_reduced() -> Result<()> {
    fn check<W: ringforge::words::Word + bytemuck::Pod>(text: &str) -> Result<()> {
        let ring: PolyType = text.parse()?;
        let transform = Transform::<W>::of(&KernelLayout::of(&ring, &Limits::cpu())?, 0)?;
        let mut row = vec![W::zeroed(); ring.degree()];
        bytemuck::cast_slice_mut(&mut row).fill(0xffu8);
        let other = row.clone();
        transform.forward(&mut row)?;
        transform.multiply(&mut row, &other)?;
        transform.inverse(&mut row)?;
        bytemuck::cast_slice_mut(&mut row).fill(0xffu8);
        transform.invert(&mut row)?;
        Ok(())
    }
    check::<u32>(RINGS[0])?;
    check::<u32>(RINGS[2])?;
    check::<u32>(RINGS[3])?;
    check::<u64>(RINGS[4])?;
    check::<u64>(RINGS[5])?;
    check::<[u64; 4]>(RINGS[6])?;
    check::<[u64; 4]>(RINGS[7])
}

#[test]
fn indices_out_of_range() -> Result<()> {
    for text in ["3457:x^48-x^24+1", "97,193:x^16+1"] {
        let factorization = Factorization::of(text.parse::<PolyType>()?, None)?;
        let (depth, leaves, moduli) =
            (factorization.layers().len(), factorization.leaves(), factorization.roots().len());
        assert!(
            factorization.leaf_constant(moduli - 1, leaves - 1).is_some()
                && factorization.exponent(depth, leaves - 1).is_some()
        );
        for (modulus, leaf) in [(9, 0), (moduli, 0), (0, leaves), (usize::MAX, usize::MAX)] {
            assert_eq!(factorization.leaf_constant(modulus, leaf), None);
        }
        for (layer, node) in [(99, 0), (depth + 1, 0), (1, 2), (depth, leaves), (usize::MAX, usize::MAX)] {
            assert_eq!(factorization.exponent(layer, node), None);
        }
        assert_eq!(
            (factorization.nodes(0), factorization.nodes(99), factorization.nodes(usize::MAX)),
            (1, leaves, leaves)
        );
        refused!(
            Transform::<u32>::of(&KernelLayout::of(factorization.poly(), &Limits::cpu())?, usize::MAX),
            Error::TooLarge { .. }
        );
    }
    Ok(())
}

#[test]
fn sizes_beyond_all_memory() -> Result<()> {
    let ring: PolyType = "3329:x^256+1".parse()?;
    for limits in [Limits::cpu(), Limits::h200()] {
        let rows = || KernelLayout::of(&ring, &limits);
        for absurd in [usize::MAX, usize::MAX / 2 + 1, 1 << 40] {
            refused!(rows()?.extra_shared(absurd).build(&limits), Error::Unsupported { .. });
            refused!(rows()?.holding(absurd).build(&limits), Error::Unsupported { .. });
            refused!(rows()?.per_item(absurd).build(&limits), Error::Unsupported { ref job, .. }
                if job.contains("limbs per item"));
            assert!(rows()?.per_item(absurd).item_bytes() >= 512 << 40);
        }
        for none in [rows()?.per_item(0), rows()?.holding(0)] {
            refused!(none.build(&limits), Error::Unsupported { .. });
        }
    }
    let plan = one_step(Fake::new(&[Port::in_out(usize::MAX), Port::input(usize::MAX)]), &["data", "more"])?;
    assert_eq!(plan.bytes_moved_per_item(), usize::MAX);
    refused!(Modulus::ntt_primes(1, 64, usize::MAX), Error::TooLarge { .. });
    Ok(())
}

/// Error messages state the actual cause.
#[test]
fn words_of_errors() -> Result<()> {
    let q = Modulus::new(3329u32)?;
    let words = |outcome: Result<()>| outcome.expect_err("refused").to_string();
    let plan = |text: &str, op| Planner::default().plan(&Job::new(text.parse::<PolyType>()?, op)).map(drop);
    // a root of the wrong order is not reported as a missing root of order 1
    let root = words(Ring::cyclic(8, q)?.with_root(2u32).map(drop));
    assert_eq!(root, "invalid ring: the root 2 does not generate the factors of x^8 - 1 modulo 3329");
    let both = words("17:x^4-13@3@1".parse::<PolyType>().map(drop));
    assert_eq!(both, "invalid ring: the root 3 with the step 1 does not generate the factors of x^4 - 13 modulo 17");
    // a single even modulus is not reported as sharing its basis with other moduli
    let even = words(plan("1099511627776:x^64+1", Op::Forward));
    assert!(even.starts_with("1099511627776 is not prime"), "{even}");
    let two = words(plan("2,4294967291:x-1", Op::Forward));
    assert!(two.ends_with("the modulus 2 must not share a basis with moduli of more than 16 bits"), "{two}");
    // two devices with the same name
    let (one, other) = (Device::cpu(), Device::cpu());
    let device = words(other.stream()?.wipe(&mut one.buffer(1)?));
    assert_eq!(device, "the buffer belongs to a different engine or device, although both are CPU: share one `Engine`");
    // the error names the argument
    let program = one.compile(&Planner::default().plan(&Job::new("3329:x^4+1".parse::<PolyType>()?, Op::Mul))?)?;
    let mut out = [0u16; 4];
    let call = || program.on_host(1).input("a", &[0u16; 4]);
    let short = words(call().input("b", &[0u16; 3]).output("product", &mut out).run());
    assert_eq!(short, "argument b: expected 8 bytes, got 6");
    let read = words(call().input("b", &[0u16; 4]).input("product", &[0u16; 4]).run());
    assert_eq!(read, "argument product: expected writable memory, got read-only memory");
    let missing = words(call().output("product", &mut out).run());
    assert_eq!(missing, format!("a run of {} is missing argument b", program.plan().title()));
    let twice = words(call().input("a", &[0u16; 4]).run());
    assert_eq!(twice, format!("a run of {} was given argument a twice", program.plan().title()));
    let unknown = words(call().input("c", &[0u16; 4]).run());
    assert_eq!(
        unknown,
        format!("a run of {} has no argument c: its arguments are a, b, product", program.plan().title())
    );
    Ok(())
}

fn number() -> impl Strategy<Value = U256> {
    let words = prop_oneof![Just(0), Just(1), Just(2), Just(u64::MAX), Just(1 << 63), any::<u64>()];
    (words.clone(), words.clone(), words.clone(), words, 0u32..=4)
        .prop_map(|(a, b, c, d, shift)| U256::from_words([a, b, c, d]).shr_vartime((64 * shift).min(255)))
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![0usize..5, Just(usize::MAX), Just(usize::MAX - 14), Just(1 << 32), any::<usize>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Arithmetic functions of moduli do not panic for arbitrary numbers.
    #[test]
    fn functions_of_moduli(q in number(), a in number(), b in number()) {
        let Ok(q) = Modulus::new(q) else { return Ok(()) };
        _ = (q.add(&a, &b), q.sub(&a, &b), q.mul(&a, &b), q.neg(&a), q.pow(&a, &b), q.inverse(&a));
        _ = (q.from_montgomery(&a), q.to_montgomery(&a), q.reduce_i64(i64::MIN), q.width());
        for arithmetic in Arithmetic::ALL {
            prop_assert!(arithmetic.capacity(&q) > 0);
            _ = (arithmetic.initializer(&q), arithmetic.type_name(&q));
            if let Ok(ring) = Ring::cyclic(1, q).map(PolyType::from) {
                _ = arithmetic.product_factor(&ring, &q);
            }
        }
    }

    /// Layouts of absurd sizes: every layout that can be built can be launched.
    #[test]
    fn rows_of_any_size(held in size(), per_item in size(), extra in size(), threads in any::<u32>(), shared in any::<u32>()) {
        let ring: PolyType = "7681:x^96+1".parse().expect("a ring");
        let mut limits = Limits::h200();
        (limits.block_threads, limits.block_shared_bytes) = (Some(threads), shared);
        let rows = KernelLayout::of(&ring, &limits).expect("rows").holding(held).per_item(per_item).extra_shared(extra);
        _ = (rows.item_bytes(), rows.table_port(), rows.constants_port());
        if let Ok(built) = rows.build(&limits) {
            prop_assert!(built.launch.shared_bytes <= shared && (1..=threads).contains(&built.launch.threads));
            let rows_of_block = built.launch.items_per_block as usize * per_item / built.launch.blocks_per_item as usize;
            prop_assert!(rows_of_block > 0 && rows_of_block * extra <= shared as usize);
        }
    }

    /// Operations on residues of arbitrary bits do not panic.
    #[test]
    fn residues_of_any_bits(ring in 0..RINGS.len(), contents in vec(any::<u8>(), 1..40)) {
        run_all(&RINGS[ring].parse().expect("a ring"), &contents).expect("runs");
    }
}
