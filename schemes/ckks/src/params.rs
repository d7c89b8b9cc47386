//! Parameters: degree, primes, scale, and the security bound.

use ringforge::Modulus;
use ringforge::kernels::Distribution;

use crate::error::{Error, Result};

/// Pairs of log2 of the degree and the largest log2(Q·P) for 128-bit classical security with a uniform ternary secret
/// and σ = 3.19. From "Security Guidelines for Implementing Homomorphic Encryption" (eprint 2024/463). For each degree,
/// OpenFHE's table allows at least as many bits.
const MOST_BITS: [(u32, u32); 8] =
    [(10, 26), (11, 53), (12, 106), (13, 214), (14, 430), (15, 868), (16, 1747), (17, 3523)];
/// Supported degrees, as log2.
const LOG_N: core::ops::RangeInclusive<u32> = 4..=17;

/// Distribution of the errors in keys and ciphertexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Errors {
    /// Rounded Gaussian with σ = 3.19.
    #[default]
    Gaussian,
    /// Centred binomial with η = 21, hence σ = 3.24.
    Binomial,
}

impl Errors {
    pub(crate) const fn distribution(self) -> Distribution {
        match self {
            Self::Gaussian => Distribution::Gaussian { sigma: 3.19 },
            Self::Binomial => Distribution::Binomial { eta: 21 },
        }
    }
}

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
    log_n: u32,
    q: Vec<Modulus>,
    p: Vec<Modulus>,
    scale: f64,
    drop: usize,
    errors: Errors,
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
    /// [`Error::Insecure`] if Q·P has too many bits for 128-bit security. [`Error::Parameters`] unless the degree is
    /// 2^4 to 2^17, Q and P have primes of 20 to 61 bits each, and no digit has more bits than P. [`Error::Engine`] if
    /// there are not enough primes of a requested length.
    pub fn new(log_n: u32, q_bits: &[u32], p_bits: &[u32]) -> Result<Self> {
        let parameters = Self::insecure(log_n, q_bits, p_bits)?;
        let bits = parameters.bits();
        let most = most_bits(log_n);
        if bits > most { Err(Error::Insecure { log_n, bits, most }) } else { Ok(parameters) }
    }

    /// Like [`Parameters::new`], but without a security check: for tests, and to match parameters of published
    /// benchmarks.
    ///
    /// # Errors
    /// The errors of [`Parameters::new`], except [`Error::Insecure`].
    pub fn insecure(log_n: u32, q_bits: &[u32], p_bits: &[u32]) -> Result<Self> {
        let refuse = |why: String| Err(Error::Parameters { why });
        if !LOG_N.contains(&log_n) {
            return refuse(format!("the degree must be 2^4 to 2^17, not 2^{log_n}"));
        }
        let all = [q_bits, p_bits].concat();
        if q_bits.is_empty() || p_bits.is_empty() || all.iter().any(|bits| !(20..=61).contains(bits)) {
            return refuse("Q and P must each have at least one prime, all of 20 to 61 bits".into());
        }
        let most = q_bits.chunks(p_bits.len()).map(|digit| digit.iter().sum()).max();
        if most > Some(p_bits.iter().sum::<u32>()) {
            return refuse("P has fewer bits than a digit of Q, so key switching is too noisy: add bits to P".into());
        }
        let mut primes = primes(log_n, &all)?;
        let p = primes.split_off(q_bits.len());
        let scale = default_scale(q_bits, 1);
        Ok(Self { log_n, q: primes, p, scale, drop: 1, errors: Errors::default() })
    }

    /// Sets how many primes one rescaling drops. Sets the scale to 2^b, where b is the total bit length of the last
    /// `primes` primes of Q. If Q has only one prime, b is half of its length. This is for primes of 27 to 31 bits,
    /// because one such prime is too short for a scale.
    ///
    /// # Errors
    /// [`Error::Parameters`] unless `primes` is at least 1 and rescaling keeps a prime of Q. If Q has only one prime, 1
    /// is allowed.
    pub fn rescaling_by(mut self, primes: usize) -> Result<Self> {
        if !(1..self.q.len().max(2)).contains(&primes) {
            return Err(Error::Parameters {
                why: format!("rescaling cannot drop {primes} of {} primes: drop at least 1 and keep 1", self.q.len()),
            });
        }
        self.drop = primes;
        self.scale = default_scale(&self.q.iter().map(Modulus::bits).collect::<Vec<_>>(), primes);
        Ok(self)
    }

    /// Sets the scale for encoding.
    ///
    /// # Errors
    /// [`Error::Parameters`] unless the scale is finite and at least 1.
    pub fn with_scale(mut self, scale: f64) -> Result<Self> {
        if !scale.is_finite() || scale < 1.0 {
            return Err(Error::Parameters { why: format!("the scale must be finite and at least 1, not {scale}") });
        }
        self.scale = scale;
        Ok(self)
    }

    /// Sets the error distribution.
    #[must_use]
    pub fn with_errors(mut self, errors: Errors) -> Self {
        self.errors = errors;
        self
    }

    /// The degree N of the ring.
    #[must_use]
    pub fn degree(&self) -> usize {
        1 << self.log_n
    }

    /// Number of slots of a plaintext: N/2.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.degree() / 2
    }

    /// The primes of the ciphertext modulus Q, from q_0 on.
    #[must_use]
    pub fn q(&self) -> &[Modulus] {
        &self.q
    }

    /// The primes of the special modulus P.
    #[must_use]
    pub fn p(&self) -> &[Modulus] {
        &self.p
    }

    /// log2(Q·P), rounded up.
    #[must_use]
    pub fn bits(&self) -> u32 {
        (bits(&self.q) + bits(&self.p)).ceil() as u32
    }

    /// Whether log2(Q·P) is within the bound of 128-bit security.
    pub(crate) fn is_secure(&self) -> bool {
        self.bits() <= most_bits(self.log_n)
    }

    /// log2 of the ciphertext modulus at a level.
    pub(crate) fn bits_left(&self, level: usize) -> f64 {
        bits(&self.q[..self.limbs(level)])
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

    /// Distribution of the errors in keys and ciphertexts.
    #[must_use]
    pub fn errors(&self) -> Errors {
        self.errors
    }

    /// Number of primes that one rescaling drops.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.drop
    }

    /// Level of fresh ciphertexts: how many times they can be rescaled.
    #[must_use]
    pub fn top_level(&self) -> usize {
        (self.q.len() - 1) / self.drop
    }

    /// Number of primes of Q that remain at a level.
    #[must_use]
    pub fn limbs(&self, level: usize) -> usize {
        self.q.len() - (self.top_level() - level.min(self.top_level())) * self.drop
    }

    /// Number of key-switching digits at the top level (dnum).
    #[must_use]
    pub fn digits(&self) -> usize {
        self.q.len().div_ceil(self.p.len())
    }

    /// Bytes of a ciphertext at a level.
    #[must_use]
    pub fn ciphertext_bytes(&self, level: usize) -> usize {
        2 * self.limbs(level) * self.degree() * self.word()
    }

    /// Bytes of a switching key: for relinearisation, for one rotation, or for conjugation.
    #[must_use]
    pub fn switching_key_bytes(&self) -> usize {
        2 * self.digits() * (self.q.len() + self.p.len()) * self.degree() * self.word()
    }

    /// Bytes per residue in memory: 4 if all primes have at most 32 bits, else 8.
    pub(crate) fn word(&self) -> usize {
        if self.q.iter().chain(&self.p).all(|q| q.bits() <= 32) { 4 } else { 8 }
    }
}

/// The largest log2(Q·P) for 128-bit security; 0 if there is none for this degree.
fn most_bits(log_n: u32) -> u32 {
    MOST_BITS.iter().find(|(log, _)| *log == log_n).map_or(0, |(_, most)| *most)
}

/// log2 of the product of these moduli.
pub(crate) fn bits(moduli: &[Modulus]) -> f64 {
    moduli.iter().filter_map(Modulus::value_u64).map(|q| (q as f64).log2()).sum()
}

/// Finds a distinct prime for each length in `bits`, in the order of `bits`; among equal lengths, larger primes come
/// first. Prefers primes with faster arithmetic on GPUs.
fn primes(log_n: u32, bits: &[u32]) -> Result<Vec<Modulus>> {
    let order = 2u64 << log_n;
    let mut found = vec![Vec::new(); 62];
    for &each in bits {
        let of_these = &mut found[each as usize];
        if of_these.is_empty() {
            let count = bits.iter().filter(|other| **other == each).count();
            *of_these = match each {
                // Primes of fewer than 51 bits need not be friendly (1 modulo 2^32): for these, GPUs use the faster
                // arithmetic on doubles.
                51.. => Modulus::friendly_ntt_primes(order, each, count)?,
                _ => Modulus::ntt_primes(order, each, count)?,
            };
            of_these.reverse();
        }
    }
    Ok(bits.iter().filter_map(|&each| found[each as usize].pop()).collect())
}

/// Default scale if rescaling drops `dropped` primes: 2^b, where b is the total bit length of the last `dropped` primes
/// of Q. If Q has only one prime, b is half of its length, because numbers times the scale must be smaller than the
/// prime.
fn default_scale(q_bits: &[u32], dropped: usize) -> f64 {
    let bits: u32 = q_bits.iter().rev().take(dropped).sum();
    f64::exp2(f64::from(if q_bits.len() == 1 { bits / 2 } else { bits }))
}
