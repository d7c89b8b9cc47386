//! The quotient polynomial of Groth16 provers.

use core::ffi::c_char;

use ark_bls12_377::Fr as Bls12_377;
use ark_bls12_381::Fr as Bls12_381;
use ark_bn254::Fr as Bn254;
use ringforge::{Modulus, U256};
use ringforge_arkworks::{EngineField, Reduction};
use ringforge_msm::Vectors;

use crate::code::{Failure, RingforgeCode, guarded};
use crate::engine::RingforgeEngine;
use crate::pointer::{Memory, reference, refused, text};

/// 64-bit words of an element.
const ELEMENT: usize = 4;
/// The largest domains have 2^28 points.
const MOST: u32 = 28;

/// Computes the coefficients of h = (a b - c) / (x^n - 1) with n = 2^`log_n`, as gnark's `ComputeH` does. The polynomials
/// a, b and c have degrees below n, and are given by their evaluations at the powers of g^((r - 1) / n). This is a root of
/// unity of order n, where r is the order of `curve`. The curve is `bn254`, `bls12-381` or `bls12-377`, with g = 5, 7 or 22.
///
/// `a`, `b` and `c` have n elements each, in natural order, and `h` gets n: coefficient i at place i, or with
/// `bit_reversed` at the place whose bits are those of i in reverse, as gnark keeps it. An element is four 64-bit words,
/// least significant first, in Montgomery form (times 2^256). One that is not below r is an error. The products a b and c
/// must be equal at the powers of the root; this is not checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ringforge_groth16_quotient(
    engine: *const RingforgeEngine,
    curve: *const c_char,
    log_n: u32,
    bit_reversed: bool,
    a: *const u64,
    b: *const u64,
    c: *const u64,
    h: *mut u64,
) -> RingforgeCode {
    guarded(|| {
        let engine = reference("engine", engine)?;
        let quotient = match text("curve", curve)? {
            "bn254" => quotient::<Bn254>,
            "bls12-381" => quotient::<Bls12_381>,
            "bls12-377" => quotient::<Bls12_377>,
            _ => return Err(refused("curve", "is not the name of a curve")),
        };
        if log_n > MOST {
            return Err(refused("log_n", "is larger than 28"));
        }
        let n = 1 << log_n;
        let given = [("a", a), ("b", b), ("c", c)].map(|(name, words)| Memory::new(name, words, n, ELEMENT));
        let others = given.map(|memory| memory.bytes());
        let h = Memory::new("h", h, n, ELEMENT).apart_from(others)?.write()?;
        let [a, b, c] = given;
        quotient(engine, bit_reversed, [a.read()?, b.read()?, c.read()?], h)
    })
}

fn quotient<F: EngineField>(
    engine: &RingforgeEngine,
    bit_reversed: bool,
    given: [&[u64]; 3],
    h: &mut [u64],
) -> Result<(), Failure> {
    let modulus = F::MODULUS.0;
    let is_reduced = |element: &[u64; ELEMENT]| element.iter().rev().lt(modulus.iter().rev());
    for (name, words) in ["a", "b", "c"].into_iter().zip(given) {
        if let Some(i) = words.as_chunks().0.iter().position(|element| !is_reduced(element)) {
            let why = format!("{name}: element {i} is not below the order");
            return Err(Failure::new(RingforgeCode::NotReduced, why));
        }
    }
    let n = h.len() / ELEMENT;
    let map = engine.backend.witness_map::<F>(Reduction::Libsnark, n)?;
    let stream = engine.engine.stream()?;
    let [a, b, c] = given.map(|words| stream.upload_secret(words));
    let (mut a, mut b, mut c) = (a?, b?, c?);
    map.run(stream, &mut a, &mut b, &mut c)?;
    if bit_reversed {
        let key = ("bit-reversed quotient", modulus, n);
        let program = engine.engine.program_of(&key, |planner| {
            let p = planner.pipeline(format!("bit reversal of {n} elements"));
            let vectors = Vectors::new(&p, &Modulus::new(U256::from_words(modulus))?, n)?;
            p.output("reversed", vectors.bit_reversed(vectors.input("elements")));
            Ok(p.build()?.on_secrets())
        })?;
        program.on(stream, 1).input("elements", &c).output("reversed", &mut a).run()?;
        c = a;
    }
    Ok(stream.read(&c, h)?)
}
