//! Ciphertexts and keys as bytes, and what is none.

use proptest::prelude::*;
use ringforge::Engine;
use ringforge_ckks::{Ckks, Complex64, Error, Parameters, Randomness, Result};

fn scheme(q: &[u32], p: &[u32]) -> Result<(Ckks, Vec<u8>, Vec<u8>)> {
    let ckks = Ckks::new(&Engine::cpu(), Parameters::insecure(5, q, p)?)?;
    let mut random = Randomness::from_seed([1; 32]);
    let secret = ckks.secret_key(&mut random)?;
    let public = ckks.public_key(&secret, &mut random)?;
    let items = [vec![Complex64::ONE; 16], vec![Complex64::I; 3]];
    let level = ckks.parameters().top_level() - 1;
    let ciphertext = ckks.encrypt(&ckks.encode(&items, level)?, &public, &mut random)?;
    let bytes = ckks.ciphertext_to_bytes(&ciphertext)?;
    let back = ckks.ciphertext_from_bytes(&bytes)?;
    assert_eq!((back.level(), back.batch(), back.scale()), (level, 2, ciphertext.scale()));
    assert!((ckks.decrypt(&back, &secret)?[1][1] - Complex64::I).norm() < 0.01);
    let key = ckks.public_key_to_bytes(&public)?;
    let again = ckks.encrypt(&ckks.encode(&items, 1)?, &ckks.public_key_from_bytes(&key)?, &mut random)?;
    assert!((ckks.decrypt(&again, &secret)?[1][1] - Complex64::I).norm() < 0.01);
    Ok((ckks, bytes, key))
}

#[test]
fn they_come_back_and_nothing_else_does() -> Result<()> {
    for (q, p) in [(&[50, 40, 40][..], &[50][..]), (&[31, 26, 26], &[31])] {
        let (ckks, bytes, key) = scheme(q, p)?;
        let refused = |bytes: &[u8]| matches!(ckks.ciphertext_from_bytes(bytes), Err(Error::Malformed { .. }));
        assert!(refused(&key) && ckks.public_key_from_bytes(&bytes).is_err());
        (0..bytes.len()).step_by(7).for_each(|len| assert!(refused(&bytes[..len]), "{len}"));
        assert!(refused(&[&bytes[..], &[0]].concat()) && refused(&[&bytes[..], &bytes[40..]].concat()));
        // every byte of the header counts, but for most bits of the scale
        for at in (0..24).chain(31..40) {
            let mut other = bytes.clone();
            other[at] ^= 0x80;
            assert!(refused(&other), "{at}");
        }
        // a residue that is its modulus or more
        let mut other = bytes.clone();
        other[40..48].fill(0xff);
        assert!(refused(&other));
        let foreign = Ckks::new(&Engine::cpu(), Parameters::insecure(5, &[q, &[25]].concat(), p)?)?;
        assert!(foreign.ciphertext_from_bytes(&bytes).is_err());
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(start in any::<bool>(), flips in prop::collection::vec((0usize..64, any::<u8>()), 0..8),
                              rest in prop::collection::vec(any::<u8>(), 0..300)) {
        let (ckks, bytes, _) = scheme(&[50, 40, 40], &[50]).expect("a scheme");
        let mut bytes = if start { bytes } else { rest };
        for (at, byte) in flips {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        let _ = ckks.ciphertext_from_bytes(&bytes);
    }
}
