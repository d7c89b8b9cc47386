//! Fields whose elements arkworks keeps as the engine does.

use ark_ff::{BigInt, Fp, MontBackend, MontConfig, PrimeField};
use ringforge::{Error, Modulus, Quotient, Result, Ring, U256, Width};

/// A prime field whose elements are four 64-bit limbs in Montgomery form with R = 2^256, least significant first: all of
/// arkworks' fields of 193 to 256 bits, such as the scalar fields of BLS12-381, BN254, BLS12-377, Pallas and Vesta.
pub trait EngineField: PrimeField<BigInt = BigInt<4>> {
    /// The Montgomery form.
    fn limbs(&self) -> [u64; 4];

    /// The element with this Montgomery form, which must be below the modulus: it is not looked at.
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

/// F[x]/(x^n − 1): values at the powers of arkworks' root of order n.
pub(crate) fn subgroup<F: EngineField>(n: usize) -> Result<Ring> {
    Ring::cyclic(n, modulus::<F>()?)?.with_root(root::<F>(n as u64)?)
}

/// F[x]/(x^n − g^n), g the field's generator: values on the coset of g. Their natural order is the engine's own, since
/// its root of order n need not be arkworks'.
pub(crate) fn coset<F: EngineField>(n: usize) -> Result<Ring> {
    let c = integer(F::GENERATOR.pow([n as u64]).into_bigint());
    Ring::new(&[modulus::<F>()?], Quotient::Binomial { n, c })?.with_root(integer(F::GENERATOR.into_bigint()))
}

/// F[x]/(x^n + 1): values at the odd powers of arkworks' root of order 2n.
pub(crate) fn odd_powers<F: EngineField>(n: usize) -> Result<Ring> {
    Ring::negacyclic(n, modulus::<F>()?)?.with_root(root::<F>(2 * n as u64)?)
}

fn root<F: EngineField>(order: u64) -> Result<U256> {
    let root = F::get_root_of_unity(order).ok_or(Error::NoRoot { q: integer(F::MODULUS), order })?;
    Ok(integer(root.into_bigint()))
}

fn modulus<F: EngineField>() -> Result<Modulus> {
    let q = Modulus::new(integer(F::MODULUS))?;
    if q.width() != Width::W256 {
        let why = "the engine keeps its elements as plain words";
        return Err(Error::Unsupported { job: format!("a transform modulo {q} in arkworks"), why: why.into() });
    }
    Ok(q)
}

fn integer(BigInt(limbs): BigInt<4>) -> U256 {
    U256::from_le_slice(&limbs.map(u64::to_le_bytes).concat())
}
