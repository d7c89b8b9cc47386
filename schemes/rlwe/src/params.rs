//! Parameters: degree, primes, errors, and the security bound.

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
    /// The distribution that the device samples.
    #[must_use]
    pub const fn distribution(self) -> Distribution {
        match self {
            Self::Gaussian => Distribution::Gaussian { sigma: 3.19 },
            Self::Binomial => Distribution::Binomial { eta: 21 },
        }
    }
}

/// Degree N, primes of the ciphertext modulus Q and of the special modulus P for key switching, and error distribution.
///
/// ```
/// use ringforge_rlwe::Parameters;
///
/// // N = 2^13, Q of 50 + 3 × 38 bits, P of 50 bits: 214 bits in all, the most for 128-bit security
/// let parameters = Parameters::new(13, &[50, 38, 38, 38], &[50])?;
/// assert_eq!((parameters.bits(), parameters.digits()), (214, 4));
/// assert!(Parameters::new(12, &[50, 38, 38, 38], &[50]).is_err());
/// # Ok::<(), ringforge_rlwe::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    log_n: u32,
    q: Vec<Modulus>,
    p: Vec<Modulus>,
    errors: Errors,
}

impl Parameters {
    /// Chooses primes for a ring of degree 2^`log_n`. `q_bits` has the bit lengths of the primes of Q, from q_0 on, and
    /// `p_bits` those of the primes of P.
    ///
    /// Key switching decomposes Q into dnum = ⌈primes of Q / primes of P⌉ digits. A digit has as many primes as P,
    /// except that the last may have fewer.
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
        Ok(Self { log_n, q: primes, p, errors: Errors::default() })
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
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.bits() <= most_bits(self.log_n)
    }

    /// Distribution of the errors in keys and ciphertexts.
    #[must_use]
    pub fn errors(&self) -> Errors {
        self.errors
    }

    /// Number of key-switching digits at the top level (dnum).
    #[must_use]
    pub fn digits(&self) -> usize {
        self.q.len().div_ceil(self.p.len())
    }

    /// Bytes of a ciphertext modulo the first `limbs` primes of Q.
    #[must_use]
    pub fn ciphertext_bytes(&self, limbs: usize) -> usize {
        2 * limbs * self.degree() * self.word()
    }

    /// Bytes of a switching key: for relinearisation, for one rotation, or for conjugation.
    #[must_use]
    pub fn switching_key_bytes(&self) -> usize {
        2 * self.digits() * (self.q.len() + self.p.len()) * self.degree() * self.word()
    }

    /// Bytes per residue in memory: 4 if all primes have at most 32 bits, else 8.
    #[must_use]
    pub fn word(&self) -> usize {
        if self.q.iter().chain(&self.p).all(|q| q.bits() <= 32) { 4 } else { 8 }
    }
}

/// The largest log2(Q·P) for 128-bit security; 0 if there is none for this degree.
fn most_bits(log_n: u32) -> u32 {
    MOST_BITS.iter().find(|(log, _)| *log == log_n).map_or(0, |(_, most)| *most)
}

/// log2 of the product of these moduli.
#[must_use]
pub fn bits(moduli: &[Modulus]) -> f64 {
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
