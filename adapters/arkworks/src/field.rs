//! Fields whose elements arkworks and the engine store in the same format.

use ark_ff::{BigInt, Fp, MontBackend, MontConfig, PrimeField};
use ringforge::{Error, Modulus, Result, Ring, U256, Width};

/// Size in bytes of an element on the device.
pub(crate) const WORD: usize = size_of::<[u64; 4]>();

/// A prime field whose elements are four 64-bit limbs in Montgomery form with R = 2^256, least significant first.
///
/// All of arkworks' fields with four limbs implement the trait. The engine transforms those of 193 to 256 bits, such as
/// the scalar fields of BLS12-381, BN254, BLS12-377, Pallas and Vesta. It rejects smaller moduli, whose residues it
/// stores differently.
pub trait EngineField: PrimeField<BigInt = BigInt<4>> {
    /// Returns the Montgomery form of this element x: x·2^256 mod q, where q is the modulus.
    fn limbs(&self) -> [u64; 4];

    /// Returns the element with this Montgomery form, which must be below the modulus. This is not checked.
    fn from_limbs(limbs: [u64; 4]) -> Self;
}

impl<C: MontConfig<4>> EngineField for Fp<MontBackend<C, 4>, 4> {
    fn limbs(&self) -> [u64; 4] {
        self.0.0
    }

    fn from_limbs(limbs: [u64; 4]) -> Self {
        Self::new_unchecked(BigInt(limbs))
    }
}

/// The ring F[x]/(x^n − g^n). In natural order, evaluation i is at g·w^i, where w is arkworks' n-th root of unity.
pub(crate) fn coset<F: EngineField>(n: usize, g: F) -> Result<Ring> {
    let (q, w) = (modulus::<F>()?, integer(root::<F>(n as u64)?));
    if g.is_one() { Ring::cyclic(n, q)?.with_root(w) } else { Ring::coset(n, q, integer(g), w) }
}

/// Returns arkworks' root of unity of this order, or [`Error::NoRoot`] if the field has none.
pub(crate) fn root<F: EngineField>(order: u64) -> Result<F> {
    F::get_root_of_unity(order).ok_or(Error::NoRoot { q: U256::from_le_slice(&le_bytes(F::MODULUS)), order })
}

/// The modulus of a field, or an error if the engine stores its elements in another form.
pub(crate) fn modulus<F: EngineField>() -> Result<Modulus> {
    let q = Modulus::new(U256::from_le_slice(&le_bytes(F::MODULUS)))?;
    if q.width() != Width::W256 {
        let why = "the engine stores its elements as plain words: use a field of at least 193 bits";
        return Err(Error::Unsupported { job: format!("a transform modulo {q} in arkworks"), why: why.into() });
    }
    Ok(q)
}

/// Returns the element as an integer in [0, q), where q is the modulus.
pub(crate) fn integer<F: EngineField>(x: F) -> U256 {
    U256::from_le_slice(&le_bytes(x.into_bigint()))
}

fn le_bytes(BigInt(limbs): BigInt<4>) -> Vec<u8> {
    limbs.map(u64::to_le_bytes).concat()
}
