//! Fields whose elements arkworks keeps as the engine does.

use ark_ff::{BigInt, Fp, MontBackend, MontConfig, PrimeField};
use ringforge::{Error, Modulus, Result, Ring, U256, Width};

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

/// Arkworks' root of this order.
pub(crate) fn root<F: EngineField>(order: u64) -> Result<F> {
    F::get_root_of_unity(order).ok_or(Error::NoRoot { q: integer(F::MODULUS), order })
}

/// F[x]/(x^n − 1) with arkworks' root of order n.
pub(crate) fn ring<F: EngineField>(n: usize) -> Result<Ring> {
    let ring = Ring::cyclic(n, Modulus::new(integer(F::MODULUS))?)?;
    if ring.width() != Width::W256 {
        let why = "the engine keeps residues of so few bits as plain words";
        return Err(Error::Unsupported { job: ring.to_string(), why: why.into() });
    }
    ring.with_root(integer(root::<F>(n as u64)?.into_bigint()))
}

fn integer(BigInt(limbs): BigInt<4>) -> U256 {
    U256::from_le_slice(&limbs.map(u64::to_le_bytes).concat())
}
