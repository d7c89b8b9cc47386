//! Measures ML-KEM operations per second on the best device of this machine; keys and ciphertexts stay on the device.
//!
//! `cargo run --release --example ml-kem-rates [items] [runs]`: by default 65536 items on a GPU or 256 on a CPU, and 20
//! runs. Times are measured with the device's clock; results are checked against the crate `ml-kem`.

#![allow(deprecated)] // the crate `ml-kem` deprecates expanded secret keys in favour of seeds

use std::env;
use std::error::Error;

use ml_kem::kem::Decapsulate;
use ml_kem::{DecapsulationKey, ExpandedKeyEncoding};
use ringforge::{Engine, Stream};
use ringforge_batch::{Batch, ItemKind, Items, KemScheme};
use ringforge_ml_kem::{KeyError, MlKem512, MlKem768, MlKem1024};

/// Number of items that the crate `ml-kem` decapsulates too, to check the results.
const CHECKED: usize = 64;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Returns the median time of `runs` runs in seconds, and the result of the last run. Results are dropped outside the
/// measured intervals.
fn time<T>(stream: &Stream, runs: usize, run: impl Fn() -> ringforge::Result<T>) -> Outcome<(f64, T)> {
    let mut made = run()?; // the first run compiles
    stream.synchronize()?;
    let mut seconds = Vec::with_capacity(runs);
    for _ in 0..runs {
        let before = stream.mark()?;
        let now = run()?;
        seconds.push(stream.mark()?.seconds_since(&before)?);
        made = now;
    }
    seconds.sort_by(f64::total_cmp);
    Ok((seconds[runs / 2], made))
}

fn export<K: ItemKind, M: KemScheme<Error = KeyError>>(stream: &Stream, items: &Items<K, M>) -> Outcome<Vec<u8>> {
    let mut bytes = vec![0; items.len() * K::size(&M::SIZES)];
    items.export(stream, &mut bytes)?.into_result()?;
    Ok(bytes)
}

fn bench<M: KemScheme<Error = KeyError>>(
    engine: &Engine,
    batch: usize,
    runs: usize,
    decapsulate: fn(&[u8], &[u8]) -> Option<Vec<u8>>,
) -> Outcome {
    let kem = Batch::<M>::new(engine)?;
    let (sizes, stream) = (kem.sizes(), engine.device().stream()?);
    let (generate, (public, secret)) = time(&stream, runs, || kem.generate_on(&stream, batch))?;
    let (encapsulate, (sent, shared)) = time(&stream, runs, || kem.encapsulate_on(&stream, &public))?;
    let (decapsulated, received) = time(&stream, runs, || kem.decapsulate_on(&stream, &secret, &sent))?;

    let ours = export(&stream, &shared)?;
    assert!(ours == export(&stream, &received)?, "both ends must have the same keys");
    let (secret_keys, ciphertexts) = (export(&stream, &secret)?, export(&stream, &sent)?);
    for i in 0..CHECKED.min(batch) {
        let item = i * (batch / CHECKED.min(batch));
        let part = |bytes: &[u8], size: usize| bytes[item * size..][..size].to_vec();
        let theirs = decapsulate(&part(&secret_keys, sizes.secret_key), &part(&ciphertexts, sizes.ciphertext));
        assert!(theirs == Some(part(&ours, sizes.shared_key)), "item {item} differs from the crate ml-kem");
    }
    let rate = |seconds: f64| batch as f64 / seconds / 1e6;
    let [g, e, d] = [generate, encapsulate, decapsulated].map(rate);
    println!("{:<12} KeyGen {g:8.3}  Encaps {e:8.3}  Decaps {d:8.3}  M/s", M::NAME);
    Ok(())
}

macro_rules! theirs {
    ($set:ty) => {
        |secret_key, ciphertext| {
            let key = secret_key.try_into().ok()?;
            let key = DecapsulationKey::<$set>::from_expanded_bytes(&key).ok()?;
            Some(key.decapsulate(&ciphertext.try_into().ok()?).to_vec())
        }
    };
}

fn main() -> Outcome {
    let engine = Engine::best();
    let device = engine.device();
    let mut numbers = env::args().skip(1).map(|word| word.parse::<usize>());
    let batch = numbers.next().transpose()?.unwrap_or(if device.limits().is_cpu() { 256 } else { 1 << 16 }).max(1);
    let runs = numbers.next().transpose()?.unwrap_or(20).max(1);
    println!("{batch} items on {device}, the median of {runs} runs");
    bench::<MlKem512>(&engine, batch, runs, theirs!(ml_kem::MlKem512))?;
    bench::<MlKem768>(&engine, batch, runs, theirs!(ml_kem::MlKem768))?;
    bench::<MlKem1024>(&engine, batch, runs, theirs!(ml_kem::MlKem1024))
}
