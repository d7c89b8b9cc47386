//! Roofline bound of key encapsulation, from the hashing, transforms and products that it cannot avoid.

use anyhow::Result;
use ringforge::{Job, Limits, Modulus, Op, PolyType, Ring};

use super::{Operation, Parameters};
use crate::peaks::Peaks;
use crate::roofline::{Roofline, slots_per_item};

/// Instructions of a Keccak permutation (FIPS 202) on 32-bit halves of the lanes. Each of 24 rounds has 80 for the
/// column parities, 48 for the rotations, 50 for the rows and 2 for the constant.
const PERMUTATION: usize = 24 * 180;
/// Bytes that a permutation absorbs or squeezes in SHAKE-256 and in SHA3-512.
const SHAKE_256: usize = 136;
const SHA3_512: usize = 72;

/// The modulus of the public-key ring, and a prime for products over the integers.
const MODULI: [u32; 2] = [3457, 25_178_113];

impl Roofline {
    /// Roofline bound of an operation that moves `bytes_per_item` bytes; unknown for a third-party scheme.
    pub(crate) fn of_kem(
        set: &Parameters,
        operation: Operation,
        bytes_per_item: usize,
        peaks: &Peaks,
        limits: &Limits,
    ) -> Result<Self> {
        let slots = match set {
            Parameters::Ctru(set) => slots(set.n, operation, limits)?,
            Parameters::Prime(set) => prime_slots(set.n, operation, limits)?,
            Parameters::MlKem(_) => return Ok(Self::default()),
        };
        let logic = permutations(set, operation).map(|count| (count * PERMUTATION) as f64);
        Ok(Self::new(slots, logic, bytes_per_item, peaks))
    }
}

/// Keccak permutations per item; `None` if the sizes of the encryption are not known.
fn permutations(set: &Parameters, operation: Operation) -> Option<usize> {
    let sizes = set.encryption()?;
    let expanded = |bytes: usize| bytes.div_ceil(SHAKE_256);
    // the padding takes at least one byte, so a full last block needs another permutation
    let hashed = |bytes: usize| bytes / SHA3_512 + 1;
    let encrypted = hashed(33 + sizes.message) + expanded(sizes.encryption_coins);
    Some(match operation {
        Operation::KeyGen => expanded(2 * sizes.polynomial_coins),
        Operation::Encaps | Operation::EncapsOne => expanded(sizes.message) + encrypted,
        Operation::Decaps | Operation::DecapsOne => encrypted + hashed(33 + 32 + sizes.ciphertext),
    })
}

/// Multiply-add slots per item of CTRU and CNTR, without the inversion of the secret polynomial f.
fn slots(n: usize, operation: Operation, limits: &Limits) -> Result<Option<f64>> {
    let [keys, integers] = MODULI.map(|q| Ring::trinomial(n, Modulus::new(q)?).map(PolyType::from));
    let (keys, integers) = (keys?, integers?);
    let encrypted = [Op::Forward, Op::PointMul, Op::Inverse].map(|op| Job::new(&keys, op));
    let jobs = match operation {
        Operation::KeyGen => [Op::Forward, Op::Forward, Op::PointMul].map(|op| Job::new(&keys, op)).to_vec(),
        Operation::Encaps | Operation::EncapsOne => encrypted.to_vec(),
        Operation::Decaps | Operation::DecapsOne => [&encrypted[..], &[Job::new(&integers, Op::Mul)]].concat(),
    };
    Ok(jobs.iter().map(|job| slots_per_item(job, limits)).sum())
}

/// Multiply-add slots per item of CTRU-Prime, over x^n − x − 1. Products use a cyclic ring with nine radix-2 layers.
/// With one key for all items, the key is transformed in advance, which saves one transform per product.
fn prime_slots(n: usize, operation: Operation, limits: &Limits) -> Result<Option<f64>> {
    let length = (2 * n - 1).next_multiple_of(512);
    let ring = PolyType::from(Ring::cyclic(length, Modulus::new(33_550_337u32)?)?);
    let job = |op| Job::new(&ring, op).depth(9);
    let product = [Op::Forward, Op::Forward, Op::PointMul, Op::Inverse].map(job);
    let jobs = match operation {
        Operation::KeyGen | Operation::Encaps => product.to_vec(),
        Operation::Decaps => [&product[..], &product].concat(),
        Operation::EncapsOne => product[1..].to_vec(),
        Operation::DecapsOne => [&product[1..], &product[1..]].concat(),
    };
    Ok(jobs.iter().map(|job| slots_per_item(job, limits)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peaks::Pipes;
    use crate::suites::kems::Set;

    #[test]
    fn permutations_are_counted() -> Result<()> {
        // the bytes that determine the counts are: in KeyGen the coins; in Encaps the message, the hash input and the
        // coins; in Decaps the hash input. CTRU-768: 768; 48, 81 and 768; 1025. CTRU-Prime-761: 762; 47, 80 and 381;
        // 1017.
        for (name, counts) in [("CTRU-768", [6, 9, 23]), ("CTRU-Prime-761", [6, 6, 20])] {
            let set = &Set::named(name)?.parameters;
            let found = [Operation::KeyGen, Operation::Encaps, Operation::Decaps].map(|op| permutations(set, op));
            assert_eq!(found, counts.map(Some), "{name}");
        }
        Ok(())
    }

    #[test]
    fn the_largest_bound_is_the_limit() -> Result<()> {
        let limits = Limits::h200();
        let peaks = Peaks { copy: 4e12, pipes: Pipes::of(&limits) };
        let set = &Set::named("CTRU-768")?.parameters;
        let floor = Roofline::of_kem(set, Operation::Encaps, 1152 + 960, &peaks, &limits)?;
        let limit = floor.limit().filter(|(_, by)| *by == "logic").map(|(seconds, _)| seconds);
        assert!(limit.is_some_and(|seconds| (seconds * 16.4e12 / (9.0 * 24.0 * 180.0) - 1.0).abs() < 1e-9));
        let multiply = floor.0.iter().find(|bound| bound.by == "multiply").and_then(|bound| bound.seconds);
        assert!(multiply.is_some_and(|multiply| multiply > 0.0 && Some(multiply) < limit));
        Ok(())
    }
}
