//! Parameters: degree, primes, scale, and the security bound.

use std::sync::Arc;

use ringforge::Modulus;
use ringforge_rlwe::{self as rlwe, Errors, bits};

use crate::error::{Error, Result};

/// Parameters of the scheme: degree N, primes of the ciphertext modulus Q and of the special modulus P for key
/// switching, scale, and error distribution.
///
/// ```
/// use ringforge_ckks::Parameters;
///
/// // N = 2^13, Q of 50 + 3 × 38 bits, P of 50 bits: 214 bits in all, the most for 128-bit security
/// let parameters = Parameters::new(13, &[50, 38, 38, 38], &[50])?;
/// assert_eq!((parameters.slots(), parameters.top_level()), (4096, 3));
/// assert!(Parameters::new(12, &[50, 38, 38, 38], &[50]).is_err());
/// # Ok::<(), ringforge_ckks::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    rlwe: Arc<rlwe::Parameters>,
    scale: f64,
    drop: usize,
}

impl Parameters {
    /// Chooses primes for a ring of degree 2^`log_n`. `q_bits` has the bit lengths of the primes of Q, from q_0 on, and
    /// `p_bits` those of the primes of P.
    ///
    /// The scale is 2^b, where b is the bit length of the last prime of Q, or half of it if Q has no other prime.
    /// Rescaling drops one prime. Key switching decomposes Q into dnum = ⌈primes of Q / primes of P⌉ digits. A digit
    /// has as many primes as P, except that the last may have fewer.
    ///
    /// # Errors
    /// [`Insecure`](crate::rlwe::Error::Insecure) if Q·P has too many bits for 128-bit security.
    /// [`Parameters`](crate::rlwe::Error::Parameters) unless the degree is 2^4 to 2^17, Q and P have primes of 20 to 61
    /// bits each, and no digit has more bits than P. [`Error::Engine`] if there are not enough primes of a requested
    /// length.
    pub fn new(log_n: u32, q_bits: &[u32], p_bits: &[u32]) -> Result<Self> {
        Ok(Self::of(rlwe::Parameters::new(log_n, q_bits, p_bits)?, q_bits))
    }

    /// Like [`Parameters::new`], but without a security check: for tests, and to match parameters of published
    /// benchmarks.
    ///
    /// # Errors
    /// The errors of [`Parameters::new`], except [`Insecure`](crate::rlwe::Error::Insecure).
    pub fn insecure(log_n: u32, q_bits: &[u32], p_bits: &[u32]) -> Result<Self> {
        Ok(Self::of(rlwe::Parameters::insecure(log_n, q_bits, p_bits)?, q_bits))
    }

    fn of(rlwe: rlwe::Parameters, q_bits: &[u32]) -> Self {
        Self { rlwe: Arc::new(rlwe), scale: default_scale(q_bits, 1), drop: 1 }
    }

    /// Sets how many primes one rescaling drops. Sets the scale to 2^b, where b is the total bit length of the last
    /// `primes` primes of Q. If Q has only one prime, b is half of its length. This is for primes of 27 to 31 bits,
    /// because one such prime is too short for a scale.
    ///
    /// # Errors
    /// [`Parameters`](crate::rlwe::Error::Parameters) unless `primes` is at least 1 and rescaling keeps a prime of Q.
    /// If Q has only one prime, 1 is allowed.
    pub fn rescaling_by(mut self, primes: usize) -> Result<Self> {
        if !(1..self.q().len().max(2)).contains(&primes) {
            let all = self.q().len();
            return refused(format!("rescaling cannot drop {primes} of {all} primes: drop at least 1 and keep 1"));
        }
        self.drop = primes;
        self.scale = default_scale(&self.q().iter().map(Modulus::bits).collect::<Vec<_>>(), primes);
        Ok(self)
    }

    /// Sets the scale for encoding.
    ///
    /// # Errors
    /// [`Parameters`](crate::rlwe::Error::Parameters) unless the scale is finite and at least 1.
    pub fn with_scale(mut self, scale: f64) -> Result<Self> {
        if !scale.is_finite() || scale < 1.0 {
            return refused(format!("the scale must be finite and at least 1, not {scale}"));
        }
        self.scale = scale;
        Ok(self)
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

    /// Number of slots of a plaintext: N/2.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.degree() / 2
    }

    /// The primes of the ciphertext modulus Q, from q_0 on.
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

    /// log2 of the ciphertext modulus at a level.
    pub(crate) fn bits_left(&self, level: usize) -> f64 {
        bits(&self.q()[..self.limbs(level)])
    }

    /// Returns [`Error::Scale`] unless the scale is at least 1 and below half of the modulus at this level. The bound
    /// is for the number 1, which encodes to a coefficient equal to the scale.
    pub(crate) fn check_scale(&self, scale: f64, level: usize) -> Result<()> {
        let bits = self.bits_left(level) - 1.0;
        let fits = scale >= 1.0 && scale.log2() < bits;
        if fits { Ok(()) } else { Err(Error::Scale { scale, level, bits }) }
    }

    /// Standard deviation, in a slot, of the rounding error of rescaling, multiplied by the scale. Each of the N
    /// coefficients has the error of two uniform roundings, the second multiplied by a uniform ternary secret.
    pub(crate) fn rounding_error(&self) -> f64 {
        let n = self.degree() as f64;
        (n * (1.0 + n * 2.0 / 3.0) / 12.0).sqrt()
    }

    /// Default scale for encoding.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Number of primes that one rescaling drops.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.drop
    }

    /// Level of fresh ciphertexts: how many times they can be rescaled.
    #[must_use]
    pub fn top_level(&self) -> usize {
        (self.q().len() - 1) / self.drop
    }

    /// Number of primes of Q that remain at a level.
    #[must_use]
    pub fn limbs(&self, level: usize) -> usize {
        self.q().len() - (self.top_level() - level.min(self.top_level())) * self.drop
    }

    /// Bytes of a ciphertext at a level.
    #[must_use]
    pub fn ciphertext_bytes(&self, level: usize) -> usize {
        self.rlwe.ciphertext_bytes(self.limbs(level))
    }
}

/// Default scale if rescaling drops `dropped` primes: 2^b, where b is the total bit length of the last `dropped` primes
/// of Q. If Q has only one prime, b is half of its length, because numbers times the scale must be smaller than the
/// prime.
fn default_scale(q_bits: &[u32], dropped: usize) -> f64 {
    let bits: u32 = q_bits.iter().rev().take(dropped).sum();
    f64::exp2(f64::from(if q_bits.len() == 1 { bits / 2 } else { bits }))
}

/// An error that says why parameters are not valid.
pub(crate) fn refused<T>(why: impl Into<String>) -> Result<T> {
    Err(Error::Rlwe(rlwe::Error::Parameters { why: why.into() }))
}
