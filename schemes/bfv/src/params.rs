//! Parameters: those of keys, the plaintext modulus, and the primes with which products are computed.

use std::sync::Arc;

use ringforge::{Modulus, U256};
use ringforge_rlwe::{self as rlwe, Errors, bits};

use crate::error::{Error, Result};

/// Bits of the plaintext modulus, at most.
const MOST_BITS: u32 = 60;

/// Parameters of the scheme: degree N, plaintext modulus t, primes of the ciphertext modulus Q and of the special modulus
/// P for key switching, and error distribution.
///
/// ```
/// use ringforge_bfv::Parameters;
///
/// // N = 2^13, t = 65537, Q of 3 × 54 bits, P of 56 bits... are too many for 128-bit security
/// assert!(Parameters::new(13, 65537, &[54; 3], &[56]).is_err());
/// let parameters = Parameters::new(13, 65537, &[53; 3], &[54])?;
/// assert_eq!((parameters.slots(), parameters.bits()), (8192, 213));
/// assert_eq!(Parameters::plain_modulus(13, 20)?, 1032193);
/// # Ok::<(), ringforge_bfv::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    rlwe: Arc<rlwe::Parameters>,
    t: Modulus,
    /// The primes of R: products of ciphertexts are computed modulo R·Q.
    r: Vec<Modulus>,
}

impl Parameters {
    /// Chooses primes for a ring of degree 2^`log_n`. `q_bits` has the bit lengths of the primes of Q, and `p_bits` those
    /// of the primes of P. `plain_modulus` is t: a prime of at most 60 bits that is 1 modulo 2N, so that a plaintext has
    /// N slots. 65537 is one up to N = 2^15; [`Parameters::plain_modulus`] finds others.
    ///
    /// A fresh ciphertext has about log2(Q/t) − log2(N)/2 − 5 bits of noise budget. A product takes about
    /// log2(t) + log2(N) bits of it. Key switching decomposes Q into ⌈primes of Q / primes of P⌉ digits.
    ///
    /// # Errors
    /// [`Insecure`](rlwe::Error::Insecure) if Q·P has too many bits for 128-bit security.
    /// [`Parameters`](rlwe::Error::Parameters) unless the degree is 2^4 to 2^17, Q and P have primes of 20 to 61 bits
    /// each, and no digit has more bits than P. Also unless t is such a prime, none of Q, with fewer bits than Q, and with at
    /// most 32 if all other primes have at most 32. [`Error::Engine`] if there are not enough primes
    /// of a requested length.
    pub fn new(log_n: u32, plain_modulus: u64, q_bits: &[u32], p_bits: &[u32]) -> Result<Self> {
        Self::of(rlwe::Parameters::new(log_n, q_bits, p_bits)?, plain_modulus)
    }

    /// Like [`Parameters::new`], but without a security check: for tests, and to match parameters of published
    /// benchmarks.
    ///
    /// # Errors
    /// The errors of [`Parameters::new`], except [`Insecure`](rlwe::Error::Insecure).
    pub fn insecure(log_n: u32, plain_modulus: u64, q_bits: &[u32], p_bits: &[u32]) -> Result<Self> {
        Self::of(rlwe::Parameters::insecure(log_n, q_bits, p_bits)?, plain_modulus)
    }

    fn of(rlwe: rlwe::Parameters, plain_modulus: u64) -> Result<Self> {
        let (order, wide) = (2 * rlwe.degree() as u64, rlwe.word() == 8);
        // 2 for a number that is no modulus, and is refused
        let t = Modulus::new(plain_modulus.max(2))?;
        let why = if t.bits() > MOST_BITS || !t.is_prime() || plain_modulus % order != 1 {
            format!("the plaintext modulus must be a prime of at most {MOST_BITS} bits that is 1 modulo {order}")
        } else if rlwe.q().contains(&t) {
            "the plaintext modulus must differ from all primes of Q".into()
        } else if f64::from(t.bits()) >= bits(rlwe.q()) {
            "Q must have more bits than the plaintext modulus".into()
        } else if !wide && t.bits() > 32 {
            "a plaintext modulus above 32 bits needs a prime of Q or P above 32 bits".into()
        } else {
            let r = auxiliary_primes(&rlwe, &t, order)?;
            return Ok(Self { rlwe: Arc::new(rlwe), t, r });
        };
        Err(Error::Rlwe(rlwe::Error::Parameters { why: format!("{why}, not {plain_modulus}") }))
    }

    /// The largest plaintext modulus of `bits` bits for degree 2^`log_n`.
    ///
    /// # Errors
    /// [`Parameters`](rlwe::Error::Parameters) for more than 60 bits; [`Error::Engine`] if there is none.
    pub fn plain_modulus(log_n: u32, bits: u32) -> Result<u64> {
        if bits > MOST_BITS {
            let why = format!("the plaintext modulus must have at most {MOST_BITS} bits, not {bits}");
            return Err(Error::Rlwe(rlwe::Error::Parameters { why }));
        }
        let order = 2u64.checked_shl(log_n).unwrap_or(0);
        let found = Modulus::ntt_primes(order, bits, 1)?;
        Ok(found.first().and_then(Modulus::value_u64).unwrap_or(0))
    }

    /// Sets the error distribution.
    #[must_use]
    pub fn with_errors(mut self, errors: Errors) -> Self {
        self.rlwe = Arc::new(rlwe::Parameters::clone(&self.rlwe).with_errors(errors));
        self
    }

    /// Degree, primes and errors, which decide the sizes of keys.
    #[must_use]
    pub fn rlwe(&self) -> &Arc<rlwe::Parameters> {
        &self.rlwe
    }

    /// The degree N of the ring.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.rlwe.degree()
    }

    /// Number of slots of a plaintext: N, in two rows of N/2.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.rlwe.degree()
    }

    /// The plaintext modulus t.
    #[must_use]
    pub fn t(&self) -> u64 {
        self.t.value_u64().unwrap_or(0)
    }

    /// The primes of the ciphertext modulus Q.
    #[must_use]
    pub fn q(&self) -> &[Modulus] {
        self.rlwe.q()
    }

    /// The primes of the special modulus P.
    #[must_use]
    pub fn p(&self) -> &[Modulus] {
        self.rlwe.p()
    }

    /// log2(Q·P), rounded up.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.rlwe.bits()
    }

    /// Bytes of a ciphertext.
    #[must_use]
    pub fn ciphertext_bytes(&self) -> usize {
        self.rlwe.ciphertext_bytes(self.q().len())
    }

    /// Number of primes of R: products are computed modulo R·Q.
    #[must_use]
    pub fn auxiliary(&self) -> usize {
        self.r.len()
    }

    /// The plaintext modulus, and the primes of R.
    pub(crate) fn moduli(&self) -> (&Modulus, &[Modulus]) {
        (&self.t, &self.r)
    }

    /// Q modulo another modulus.
    pub(crate) fn q_modulo(&self, modulus: &Modulus) -> U256 {
        self.q().iter().fold(U256::ONE, |product, q| modulus.mul(&product, &modulus.reduce(&q.value())))
    }
}

/// The primes of R, all distinct from those of Q and from t.
///
/// A coefficient of the product of two ciphertexts, of centred residues, is at most N·Q²/2 in absolute value. Times t/Q it
/// must be below R/2.
fn auxiliary_primes(rlwe: &rlwe::Parameters, t: &Modulus, order: u64) -> Result<Vec<Modulus>> {
    let longest = rlwe.q().iter().map(Modulus::bits).max().unwrap_or(0);
    // primes as long as the arithmetic of Q allows; a prime of b bits counts as b - 1
    let each = if rlwe.word() == 4 {
        31
    } else if longest <= 50 {
        50
    } else {
        60
    };
    let most = bits(rlwe.q()) + f64::from(t.bits()) + (rlwe.degree() as f64).log2() + 1.0;
    let count = (most / f64::from(each - 1)).ceil() as usize;
    let is_new = |prime: &Modulus| prime != t && !rlwe.q().contains(prime);
    let found = match each {
        60 => Modulus::friendly_ntt_primes(order, each, count + rlwe.q().len() + 1)?,
        _ => Modulus::ntt_primes(order, each, count + rlwe.q().len() + 1)?,
    };
    Ok(found.into_iter().filter(is_new).take(count).collect())
}
