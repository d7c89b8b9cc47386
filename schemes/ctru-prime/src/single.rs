//! Key generation, encapsulation and decapsulation of single items on the CPU.

use rand_core::CryptoRng;
use ringforge::{Error, Result};
use ringforge_e8::{KeyError, STACK, Seed};
use zeroize::{Zeroizing, zeroize_stack};

use crate::kem::kem;
use crate::params::SEED_BYTES;
use crate::sets::ParameterSet;

/// Generates a key pair. Returns the public key, and the secret key, which is wiped when dropped.
///
/// ```
/// use ringforge_ctru_prime::{CtruPrime761, decapsulate, encapsulate, generate};
///
/// # use rand::{SeedableRng, rngs::StdRng};
/// # let mut rng = StdRng::seed_from_u64(1); // in production, use the system's generator
/// let (public_key, secret_key) = generate::<CtruPrime761>(&mut rng)?;
/// let (ciphertext, sent) = encapsulate::<CtruPrime761>(&public_key, &mut rng)?;
/// assert_eq!(decapsulate::<CtruPrime761>(&secret_key, &ciphertext)?, sent);
/// # Ok::<(), ringforge::Error>(())
/// ```
///
/// # Errors
/// Never fails for the parameter sets of this crate.
pub fn generate<P: ParameterSet>(rng: &mut impl CryptoRng) -> Result<(Vec<u8>, Zeroizing<Vec<u8>>)> {
    let p = P::PARAMETERS;
    let mut public_key = vec![0; p.sizes().public_key];
    let mut secret_key = Zeroizing::new(vec![0; p.sizes().kem().secret_key]);
    let mut seed = Zeroizing::new(Seed::default());
    rng.fill_bytes(&mut *seed);
    let kem = kem(&p)?;
    kem.key_pair(&seed, &mut public_key, &mut secret_key, &mut kem.memory())?;
    zeroize_stack::<STACK>();
    rng.fill_bytes(&mut secret_key[p.sizes().kem().secret_key - SEED_BYTES..]);
    Ok((public_key, secret_key))
}

/// Encapsulates: returns a ciphertext and the shared key for the owner of the public key. The shared key is wiped when
/// dropped. As the format requires, any bytes are accepted as a public key: see [`is_canonical`].
///
/// # Errors
/// [`Error::Length`] unless the public key has the set's length.
pub fn encapsulate<P: ParameterSet>(
    public_key: &[u8],
    rng: &mut impl CryptoRng,
) -> Result<(Vec<u8>, Zeroizing<[u8; 32]>)> {
    let p = P::PARAMETERS;
    length("bytes of a public key", public_key, p.sizes().public_key)?;
    let mut seed = Zeroizing::new(Seed::default());
    rng.fill_bytes(&mut *seed);
    let (mut ciphertext, mut shared_key) = (vec![0; p.sizes().ciphertext], Zeroizing::new(Seed::default()));
    let kem = kem(&p)?;
    kem.encapsulate(public_key, &seed, &mut ciphertext, &mut shared_key, &mut kem.memory())?;
    zeroize_stack::<STACK>();
    // this `shared_key` is wiped on drop; a move of it could leave a copy in memory
    Ok((ciphertext, shared_key.clone()))
}

/// Decapsulates: returns the shared key of a ciphertext. The shared key is wiped when dropped. If the ciphertext does
/// not come from an encapsulation to this key, the result is a pseudorandom key (implicit rejection). The secret key is
/// not checked: see [`check_secret_key`].
///
/// # Errors
/// [`Error::Length`] unless the secret key and the ciphertext have the set's lengths.
pub fn decapsulate<P: ParameterSet>(secret_key: &[u8], ciphertext: &[u8]) -> Result<Zeroizing<[u8; 32]>> {
    let p = P::PARAMETERS;
    length("bytes of a secret key", secret_key, p.sizes().kem().secret_key)?;
    length("bytes of a ciphertext", ciphertext, p.sizes().ciphertext)?;
    let mut shared_key = Zeroizing::new(Seed::default());
    let kem = kem(&p)?;
    kem.decapsulate(secret_key, ciphertext, &mut shared_key, &mut kem.memory())?;
    zeroize_stack::<STACK>();
    // this `shared_key` is wiped on drop; a move of it could leave a copy in memory
    Ok(shared_key.clone())
}

/// Returns true if a public key is packed as key generation packs it. Encapsulation also accepts other byte strings,
/// which decode to some key, but gives shared keys that differ from those for the canonical packing of that key.
///
/// # Errors
/// [`Error::Length`] unless the key has the set's length.
pub fn is_canonical<P: ParameterSet>(public_key: &[u8]) -> Result<bool> {
    length("bytes of a public key", public_key, P::PARAMETERS.sizes().public_key)?;
    kem(&P::PARAMETERS)?.pke.is_canonical(public_key)
}

/// Checks the encoding of f in a secret key from an untrusted source. Returns the first defect, or `None` if there is
/// none.
///
/// # Errors
/// [`Error::Length`] unless the key has the set's length.
pub fn check_secret_key<P: ParameterSet>(secret_key: &[u8]) -> Result<Option<KeyError>> {
    let p = P::PARAMETERS;
    length("bytes of a secret key", secret_key, p.sizes().kem().secret_key)?;
    let [pke_key, ..] = p.sizes().parts(secret_key);
    let place = kem(&p)?.pke.bad_field(pke_key, &mut kem(&p)?.memory().polynomials)?;
    Ok(place.map(|coefficient| KeyError::InvalidSecretKey { coefficient }))
}

pub(crate) fn length(what: &'static str, bytes: &[u8], expected: usize) -> Result<()> {
    let got = bytes.len();
    if got == expected { Ok(()) } else { Err(Error::Length { what, expected, got }) }
}
