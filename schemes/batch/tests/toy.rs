//! Tests of `Batch` with a third-party KEM: a toy without any security that runs on the CPU only. Its keys are bytes,
//! and those above 250 are invalid.

use std::error::Error;

use ringforge::kernels::{Args, Built, CustomKernel, Port};
use ringforge::{Engine, Limits, Pipeline, Result, Value};
use ringforge_batch::{Batch, ErrorKind, ItemError, KemScheme, Made, SchemeError, Sizes, Steps, status, word};

struct Toy;

/// Error of a key byte above 250.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key is above 250")]
struct InvalidKey;

impl SchemeError for InvalidKey {
    fn word(self) -> u32 {
        word(2, 0)
    }

    fn all(_: usize) -> impl IntoIterator<Item = Self> {
        [Self]
    }
}

const WHY: ErrorKind<InvalidKey> = ErrorKind::Scheme(InvalidKey);

impl KemScheme for Toy {
    const NAME: &'static str = "toy";
    const SIZES: Sizes = Sizes { public_key: 1, secret_key: 1, ciphertext: 1, shared_key: 1 };
    type Error = InvalidKey;

    fn steps(_: &Limits) -> Result<impl Steps> {
        Ok(Toy)
    }
}

/// Makes a kernel with these ports that applies `$work` to each item.
macro_rules! kernel {
    ([$($port:expr),*], $work:expr) => {{
        let on_cpu = |items, args: &mut Args<'_>| args.each(items, $work);
        // SAFETY: the kernel never runs on a GPU.
        #[allow(unsafe_code)]
        unsafe {
            CustomKernel::new(("toy", "", &[]), [$($port),*], |_| Ok(Built::thread_per_item(1)), on_cpu)
        }
    }};
}

/// Input port of one byte per item.
const READ: Port = Port::input(1);
const WRITTEN: Port = Port::output(1);

impl Toy {
    fn checked<'p>(p: &'p Pipeline, keys: Value<'p>) -> Option<Value<'p>> {
        let check = kernel!([READ, Port::status()], |_, (key, to): (&u8, &mut u32)| {
            *to = status((*key > 250).then_some(InvalidKey));
            Ok(())
        });
        let [statuses] = p.step(check, &[keys]);
        Some(statuses)
    }
}

impl Steps for Toy {
    fn generate<'p>(&self, p: &'p Pipeline, seeds: Value<'p>, _: Option<Value<'p>>) -> Result<Made<'p, 2>> {
        let generate =
            kernel!([Port::input(64), WRITTEN, WRITTEN], |_, (seed, public, secret): (&[u8; 64], &mut u8, &mut u8)| {
                (*public, *secret) = (seed[0] % 251, seed[0] % 251);
                Ok(())
            });
        Ok((p.step(generate, &[seeds]), None))
    }

    fn encapsulate<'p>(&self, p: &'p Pipeline, public_keys: Value<'p>, seeds: Value<'p>) -> Result<Made<'p, 2>> {
        let encapsulate = kernel!([READ, Port::input(32), WRITTEN, WRITTEN], |_,
                                                                              (key, seed, sent, shared): (
            &u8,
            &[u8; 32],
            &mut u8,
            &mut u8
        )| {
            (*sent, *shared) = (key ^ seed[0], seed[0]);
            Ok(())
        });
        Ok((p.step(encapsulate, &[public_keys, seeds]), None))
    }

    fn decapsulate<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>, sent: Value<'p>) -> Result<Made<'p, 1>> {
        let decapsulate = kernel!([READ, READ, WRITTEN], |_, (key, sent, shared): (&u8, &u8, &mut u8)| {
            *shared = key ^ sent;
            Ok(())
        });
        Ok((p.step(decapsulate, &[secret_keys, sent]), None))
    }

    fn check_public<'p>(&self, p: &'p Pipeline, public_keys: Value<'p>) -> Result<Option<Value<'p>>> {
        Ok(Self::checked(p, public_keys))
    }

    fn check_secret<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>) -> Result<Option<Value<'p>>> {
        Ok(Self::checked(p, secret_keys))
    }
}

fn agree<M: KemScheme>(kem: &Batch<M>, batch: usize) -> Result<(Vec<u8>, Vec<u8>), Box<dyn Error>> {
    let sizes = kem.sizes();
    let (mut public_keys, mut secret_keys) = (vec![0; batch * sizes.public_key], vec![0; batch * sizes.secret_key]);
    kem.generate(&mut public_keys, &mut secret_keys)?.into_result()?;
    let (mut ciphertexts, mut sent) = (vec![0; batch * sizes.ciphertext], vec![0; batch * sizes.shared_key]);
    kem.encapsulate(&public_keys, &mut ciphertexts, &mut sent)?.into_result()?;
    let mut received = vec![0; batch * sizes.shared_key];
    kem.decapsulate(&secret_keys, &ciphertexts, &mut received)?.into_result()?;
    Ok((sent, received))
}

#[test]
fn generic_callers_agree_on_keys() {
    for batch in [0, 1, 300] {
        let (sent, received) = agree(&Batch::<Toy>::new(&Engine::cpu()).unwrap(), batch).unwrap();
        assert_eq!((sent.len(), &sent), (batch, &received));
    }
}

#[test]
fn errors_stay_with_their_item() {
    let kem = Batch::<Toy>::new(&Engine::cpu()).unwrap();
    let (mut ciphertexts, mut shared_keys) = ([9; 4], [9; 4]);
    let status = kem.encapsulate(&[1, 255, 3, 254], &mut ciphertexts, &mut shared_keys).unwrap();
    let errors = [1, 3].map(|item| ItemError { item, kind: WHY });
    assert_eq!(status.errors(), errors);
    assert_eq!((ciphertexts[0] ^ 1, ciphertexts[2] ^ 3), (shared_keys[0], shared_keys[2]));
    assert_eq!([ciphertexts[1], shared_keys[1], ciphertexts[3], shared_keys[3]], [0; 4]);

    // Device handles must report the same errors. A handle also reports the errors of the items from which it was made.
    let stream = kem.device().stream().unwrap();
    let keys = kem.import_public_keys(&stream, &[1, 255, 3, 254]).unwrap();
    let (sent, _) = kem.encapsulate_on(&stream, &keys).unwrap();
    assert_eq!(sent.status(&stream).unwrap().errors(), errors);
    let secret = kem.import_secret_keys(&stream, &[1, 2]).unwrap();
    assert!(matches!(kem.decapsulate_on(&stream, &secret, &sent), Err(ringforge::Error::ArgumentSize { .. })));
}
