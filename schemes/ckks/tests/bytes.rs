//! Tests that ciphertexts and keys survive serialisation, and that malformed bytes are rejected.

use proptest::prelude::*;
use ringforge::Engine;
use ringforge_ckks::{Ciphertext, Ckks, Complex64, Error, Parameters, Randomness, Result, rlwe};
use ringforge_testkit::Target;

const HEADER: usize = 40;
/// Number of kinds of serialised objects: ciphertexts, then four kinds of keys.
const KINDS: usize = 5;

/// FNV-1a hashes of the serialised keys of each scheme in [`schemes`]; all keys come from one seed.
const FROM_SEED: [[u64; KINDS - 1]; 2] = [
    [10_986_643_268_647_561_193, 12_154_239_108_469_078_942, 14_170_583_915_055_689_631, 9_967_260_874_984_934_558],
    [4_624_768_165_952_742_546, 15_805_128_206_008_278_379, 9_920_369_598_112_617_759, 7_527_024_307_268_739_910],
];

/// Serialises one object of each kind; all are made from a fixed seed.
fn bytes(ckks: &Ckks) -> Result<[Vec<u8>; KINDS]> {
    let mut random = Randomness::from_seed([1; 32]);
    let secret = ckks.keys().secret_key(&mut random)?;
    let public = ckks.keys().public_key(&secret, &mut random)?;
    let relinearise = ckks.keys().relinearisation_key(&secret, &mut random)?;
    let turn = ckks.keys().galois_keys(&secret, &[1, -3], true, &mut random)?;
    let items = [vec![Complex64::ONE; 16], vec![Complex64::I; 3]];
    let level = ckks.parameters().top_level() - 1;
    let ciphertext = ckks.encrypt(&ckks.encode(&items, level)?, &public, &mut random)?;
    Ok([
        ckks.ciphertext_to_bytes(&ciphertext)?,
        ckks.keys().public_key_to_bytes(&public)?,
        ckks.keys().relinearisation_key_to_bytes(&relinearise)?,
        ckks.keys().galois_keys_to_bytes(&turn)?,
        ckks.keys().secret_key_to_bytes(&secret)?.to_vec(),
    ])
}

/// Deserialises an object of this kind and serialises it again.
fn read(ckks: &Ckks, kind: usize, bytes: &[u8]) -> Result<Vec<u8>> {
    let keys = ckks.keys();
    match kind {
        0 => ckks.ciphertext_to_bytes(&ckks.ciphertext_from_bytes(bytes)?),
        1 => Ok(keys.public_key_to_bytes(&keys.public_key_from_bytes(bytes)?)?),
        2 => Ok(keys.relinearisation_key_to_bytes(&keys.relinearisation_key_from_bytes(bytes)?)?),
        3 => Ok(keys.galois_keys_to_bytes(&keys.galois_keys_from_bytes(bytes)?)?),
        _ => Ok(keys.secret_key_to_bytes(&keys.secret_key_from_bytes(bytes)?)?.to_vec()),
    }
}

/// Returns two schemes: one with 64-bit words and three key-switching digits, and one with 32-bit words and a shorter
/// last digit.
fn schemes() -> Result<Vec<Ckks>> {
    let parameters = [(&[50, 40, 40][..], &[50][..]), (&[31, 26, 26], &[31, 31])];
    parameters.map(|(q, p)| Ckks::new(&Engine::cpu(), Parameters::insecure(5, q, p)?)).into_iter().collect()
}

fn is_refused(ckks: &Ckks, kind: usize, bytes: &[u8]) -> bool {
    matches!(read(ckks, kind, bytes), Err(Error::Rlwe(rlwe::Error::Malformed { .. })))
}

#[test]
fn deserialised_objects_work() -> Result<()> {
    for ckks in schemes()? {
        let all = bytes(&ckks)?;
        for (kind, bytes) in all.iter().enumerate() {
            assert!(read(&ckks, kind, bytes)? == *bytes, "{kind}");
        }
        let [ciphertext, public, relinearise, turn, secret] = &all;
        let parameters = ckks.parameters();
        let half = parameters.ciphertext_bytes(parameters.top_level()) / 2;
        assert_eq!(public.len(), HEADER + 32 + half);
        assert_eq!(relinearise.len(), HEADER + 32 + parameters.rlwe().switching_key_bytes() / 2);
        assert_eq!(turn.len(), HEADER + 3 * (8 + 32 + parameters.rlwe().switching_key_bytes() / 2));
        assert_eq!(secret.len(), HEADER + 32 / 4);

        let secret = ckks.keys().secret_key_from_bytes(secret)?;
        let off = |c: &Ciphertext, wanted: Complex64| Ok::<_, Error>((ckks.decrypt(c, &secret)?[1][1] - wanted).norm());
        let c = ckks.ciphertext_from_bytes(ciphertext)?;
        assert_eq!((c.level(), c.batch()), (parameters.top_level() - 1, 2));
        assert!(off(&c, Complex64::I)? < 0.01);
        let items = [vec![Complex64::ONE; 16], vec![Complex64::I; 3]];
        let (public, mut random) = (ckks.keys().public_key_from_bytes(public)?, Randomness::system());
        let c = ckks.encrypt(&ckks.encode(&items, parameters.top_level())?, &public, &mut random)?;
        assert!(off(&c, Complex64::I)? < 0.01);
        let square = ckks.multiply_rescale(&c, &c, &ckks.keys().relinearisation_key_from_bytes(relinearise)?)?;
        assert!(off(&square, -Complex64::ONE)? < 0.05);
        let turn = ckks.keys().galois_keys_from_bytes(turn)?;
        assert!(turn.rotates_by(1) && turn.rotates_by(-3) && !turn.rotates_by(2));
        assert!(off(&ckks.rotate(&c, 1, &turn)?, Complex64::I)? < 0.05);
        assert!(off(&ckks.conjugate(&c, &turn)?, -Complex64::I)? < 0.05);
        // A set without any keys can be serialised too.
        let none = ckks.keys().galois_keys(&secret, &[], false, &mut random)?;
        let none = ckks.keys().galois_keys_from_bytes(&ckks.keys().galois_keys_to_bytes(&none)?)?;
        assert_eq!(none.bytes(), 0);
    }
    Ok(())
}

/// Tests that the target makes the same keys and ciphertexts as the CPU, reads their bytes, and computes the same
/// ciphertexts with deserialised keys.
fn same_keys_on(target: Target) -> Result<()> {
    let Some(device) = target.device() else { return Ok(()) };
    for parameters in
        [Parameters::insecure(5, &[50, 40, 40], &[50])?, Parameters::insecure(5, &[31, 26, 26], &[31, 31])?]
    {
        let made = Ckks::new(&Engine::cpu(), parameters.clone())?;
        let found = Ckks::new(&Engine::on(device.clone()), parameters)?;
        let all = bytes(&made)?;
        assert!(bytes(&found)? == all);
        for (kind, bytes) in all.iter().enumerate() {
            assert!(read(&found, kind, bytes)? == *bytes, "{kind}");
        }
        let products = [&made, &found].map(|ckks| {
            let c = ckks.ciphertext_from_bytes(&all[0])?;
            let c = ckks.multiply(&c, &c, &ckks.keys().relinearisation_key_from_bytes(&all[2])?)?;
            ckks.ciphertext_to_bytes(&ckks.rotate(&c, 1, &ckks.keys().galois_keys_from_bytes(&all[3])?)?)
        });
        let [product, other] = products;
        assert!(product? == other?);
    }
    Ok(())
}

#[test]
fn emulator() -> Result<()> {
    same_keys_on(Target::Emulator)
}

#[test]
fn cuda() -> Result<()> {
    same_keys_on(Target::Cuda)
}

/// Tests that a deserialised key equals the original in device memory, including the half that is expanded from the
/// seed.
#[test]
fn keys_survive_serialisation() -> Result<()> {
    for ckks in schemes()? {
        let mut random = Randomness::from_seed([4; 32]);
        let secret = ckks.keys().secret_key(&mut random)?;
        let key = ckks.keys().relinearisation_key(&secret, &mut random)?;
        let again = ckks.keys().relinearisation_key_from_bytes(&ckks.keys().relinearisation_key_to_bytes(&key)?)?;
        let stream = ckks.engine().stream()?;
        assert!(stream.download::<u8>(key.buffer())? == stream.download::<u8>(again.buffer())?);
    }
    Ok(())
}

/// Tests that a seed gives the same keys in every version, because a key may be stored as its seed.
#[test]
fn seeds_give_the_recorded_keys() -> Result<()> {
    let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = |bytes: &Vec<u8>| bytes.iter().fold(0xcbf2_9ce4_8422_2325, fnv);
    let keys = |ckks: &Ckks| Ok(bytes(ckks)?[1..].iter().map(hash).collect::<Vec<_>>());
    assert_eq!(schemes()?.iter().map(keys).collect::<Result<Vec<_>>>()?, FROM_SEED);
    Ok(())
}

#[test]
fn malformed_bytes_are_refused() -> Result<()> {
    for ckks in schemes()? {
        let all = bytes(&ckks)?;
        for (kind, bytes) in all.iter().enumerate() {
            (0..KINDS).filter(|other| *other != kind).for_each(|other| assert!(is_refused(&ckks, other, bytes)));
            (0..bytes.len()).step_by(7).for_each(|len| assert!(is_refused(&ckks, kind, &bytes[..len]), "{kind} {len}"));
            assert!(is_refused(&ckks, kind, &[&bytes[..], &[0]].concat()));
            assert!(is_refused(&ckks, kind, &[&bytes[..], &bytes[HEADER..]].concat()));
            // A changed bit in any header byte is rejected. The test leaves out bytes 24 to 30 of ciphertexts, because
            // a changed bit of the scale is often valid.
            for at in if kind == 0 { (0..24).chain(31..HEADER) } else { (0..24).chain(24..HEADER) } {
                let mut other = bytes.clone();
                other[at] ^= 0x80;
                assert!(is_refused(&ckks, kind, &other), "{kind} {at}");
            }
            // Eight bytes 0xff are a residue that is not below its modulus, or secret-key coefficients that are not
            // ternary.
            let mut other = bytes.clone();
            let last = other.len() - 8;
            other[last..].fill(0xff);
            assert!(is_refused(&ckks, kind, &other), "{kind}");
        }
        // Item counts that are larger than any memory are rejected.
        for claimed in [u64::MAX, 1 << 40] {
            for kind in [0, 3] {
                let mut other = all[kind].clone();
                other[16..24].copy_from_slice(&claimed.to_le_bytes());
                assert!(is_refused(&ckks, kind, &other));
            }
        }
        // Rotation keys for an invalid automorphism x → x^k are rejected, and so are two keys for the same
        // automorphism.
        let size = (all[3].len() - HEADER) / 3;
        for k in [0, 1, 2, 3, 65, u64::MAX] {
            let mut other = all[3].clone();
            other[HEADER..HEADER + 8].copy_from_slice(&u64::to_le_bytes(k));
            assert!(is_refused(&ckks, 3, &other), "{k}");
        }
        let mut twice = all[3].clone();
        twice.copy_within(HEADER..HEADER + size, HEADER + size);
        assert!(is_refused(&ckks, 3, &twice));
        let q: Vec<u32> = ckks.parameters().q().iter().map(|q| q.bits()).chain([25]).collect();
        let p: Vec<u32> = ckks.parameters().p().iter().map(|p| p.bits()).collect();
        let foreign = Ckks::new(&Engine::cpu(), Parameters::insecure(5, &q, &p)?)?;
        (0..KINDS).for_each(|kind| assert!(is_refused(&foreign, kind, &all[kind])));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_bytes_never_panic(start in any::<bool>(), flips in prop::collection::vec((0usize..160, any::<u8>()), 0..8),
                             cut in 0usize..3000, rest in prop::collection::vec(any::<u8>(), 0..300)) {
        for ckks in schemes().expect("schemes") {
            for (kind, mut bytes) in bytes(&ckks).expect("bytes").into_iter().enumerate() {
                if !start {
                    bytes.truncate(cut % 41);
                    bytes.extend(&rest);
                }
                for &(at, byte) in &flips {
                    if let Some(place) = bytes.get_mut(at) {
                        *place = byte;
                    }
                }
                // If bytes are accepted, serialising the object again must reproduce them.
                if let Ok(again) = read(&ckks, kind, &bytes) {
                    prop_assert!(again == bytes);
                }
            }
        }
    }
}
