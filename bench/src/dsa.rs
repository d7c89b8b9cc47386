//! ML-DSA: key generation, signing and verification on the device, and from host memory to host memory.

use anyhow::Result;
use ringforge::{Engine, Stream};
use ringforge_batch::{BatchStatus, Messages, OK, SignatureScheme, Signatures};
use ringforge_cli::measure;
use ringforge_cli::record::{Measurement, Memory};
use ringforge_cli::roofline::Roofline;
use ringforge_cli::session::Bench;
use ringforge_cli::suite::{Case, Scope, Suite, Wanted};
use ringforge_ml_dsa::{MlDsa44, MlDsa65, MlDsa87, Parameters};
use ringforge_testkit::bytes;

pub(crate) static SUITE: Suite = Suite {
    name: "ML-DSA",
    title: "ML-DSA signatures",
    about: "ML-DSA (FIPS 204), hedged, of messages of 32 bytes. On the device, keys and the hashes of messages (mu) are in device memory, and the \
            lines with one key use prepared keys. A key for each message is expanded in the run. From the host, keys and \
            signatures are in page-locked memory, by the host's clock. The roofline bound counts \
            permutations of Keccak, with the mean number of attempts of FIPS 204.",
    headline: Some(("ML-DSA-65", SIGN_ONE)),
    cases,
    ..Suite::NONE
};

const KEYGEN: &str = "key generation";
const SIGN_ONE: &str = "sign, one key";
const SIGN_EACH: &str = "sign, a key for each";
const VERIFY_ONE: &str = "verify, one key";
const VERIFY_EACH: &str = "verify, a key for each";
const OPERATIONS: [&str; 5] = [KEYGEN, SIGN_ONE, SIGN_EACH, VERIFY_ONE, VERIFY_EACH];

const BATCH: usize = 1 << 16;
const CPU_BATCH: usize = 1 << 6;
/// Bytes of a message.
const MESSAGE: usize = 32;
/// Instructions of a Keccak permutation, as in the suites of KEMs.
const PERMUTATION: usize = 24 * 180;

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let batches = scope.batches(&[scope.either(BATCH, CPU_BATCH)]);
    Ok(vec![
        case::<MlDsa65>(&MlDsa65::PARAMETERS, 5.1, &batches),
        case::<MlDsa44>(&MlDsa44::PARAMETERS, 4.25, &batches),
        case::<MlDsa87>(&MlDsa87::PARAMETERS, 3.85, &batches),
    ])
}

fn case<M: SignatureScheme>(parameters: &'static Parameters, attempts: f64, batches: &[usize]) -> Case {
    let batches = batches.to_vec();
    Case::new(M::NAME, &OPERATIONS, move |bench, wanted| {
        let mut lines = Vec::new();
        for &batch in &batches {
            lines.extend(on_device::<M>(bench, wanted, parameters, attempts, batch)?);
            lines.extend(on_host::<M>(bench, wanted, batch)?);
        }
        Ok(lines)
    })
}

/// Permutations of Keccak of an operation.
fn permutations(p: &Parameters, attempts: f64, operation: &str) -> f64 {
    // the matrix takes five blocks of SHAKE-128 for most polynomials, and an attempt five of SHAKE-256 for each mask
    let (matrix, hash) = ((5 * p.k * p.l) as f64, |bytes: usize| (bytes / 136 + 1) as f64);
    // mu, and the high bits of the commitment: 4 bits of a coefficient, or 6 in ML-DSA-44
    let high = hash(64 + p.k * 32 * if p.lambda == 128 { 6 } else { 4 });
    let key = hash(p.sizes().public_key);
    // a challenge takes one permutation; signing also verifies, and derives the seed of its masks
    let (attempt, verified) = ((5 * p.l) as f64 + high + 1.0, 1.0 + high);
    match operation {
        KEYGEN => 1.0 + matrix + (2 * (p.k + p.l)) as f64 + key,
        SIGN_ONE => 1.0 + attempts * attempt + verified,
        SIGN_EACH => 1.0 + matrix + attempts * attempt + verified,
        VERIFY_ONE => verified,
        _ => matrix + key + verified,
    }
}

fn statuses_are_ok(stream: &Stream, statuses: &ringforge::Buffer) -> Result<bool> {
    Ok(stream.download::<u32>(statuses)?.iter().all(|&status| status == OK))
}

fn on_device<M: SignatureScheme>(
    bench: &Bench,
    wanted: &Wanted,
    parameters: &Parameters,
    attempts: f64,
    batch: usize,
) -> Result<Vec<Measurement>> {
    let (dsa, stream) = (Signatures::<M>::new(&Engine::on(bench.device.clone()))?, bench.device.stream()?);
    let sizes = M::SIZES;
    let [public, secret] = dsa.generate_on(&stream, batch)?;
    let mut one_secret = stream.secret_buffer(sizes.secret_key)?;
    stream.copy(secret.slice(0..sizes.secret_key)?, &mut one_secret)?;
    let one = dsa.signing_keys_on(&stream, one_secret)?;
    let mut one_public = bench.device.buffer(sizes.public_key)?;
    stream.copy(public.slice(0..sizes.public_key)?, &mut one_public)?;
    let one_public = dsa.verifying_keys_on(&stream, &one_public)?;
    let each_public = dsa.verifying_keys_on(&stream, &public)?;

    let texts = bytes(bench.seed, MESSAGE * batch);
    let texts: Vec<&[u8]> = texts.chunks_exact(MESSAGE).collect();
    let messages = Messages::new(&texts);
    let by_one = dsa.represent_on(&stream, &one_public, &messages)?;
    let by_each = dsa.represent_on(&stream, &each_public, &messages)?;
    let sign_each = || dsa.sign_on(&stream, &dsa.signing_keys_on(&stream, stream.duplicate(&secret)?)?, &by_each);
    let [signed_by_one, ok] = dsa.sign_on(&stream, &one, &by_one)?;
    let [signed_by_each, ok_each] = sign_each()?;
    let mut right = statuses_are_ok(&stream, &ok)? && statuses_are_ok(&stream, &ok_each)?;
    right &= statuses_are_ok(&stream, &dsa.verify_on(&stream, &one_public, &by_one, &signed_by_one)?)?;
    right &= statuses_are_ok(&stream, &dsa.verify_on(&stream, &each_public, &by_each, &signed_by_each)?)?;
    // a signature of another message
    let wrong = dsa.verify_on(&stream, &one_public, &by_each, &signed_by_one)?;
    let wrong = stream.download::<u32>(&wrong)?.iter().filter(|&&status| status == OK).count();
    right &= wrong <= 1; // item 0 has the only key

    let mut lines = Vec::new();
    for operation in OPERATIONS.into_iter().filter(|operation| wanted.has(operation)) {
        let times = measure::runs(&stream, &mut [()], bench.effort, |()| {
            match operation {
                KEYGEN => drop(dsa.generate_on(&stream, batch)?),
                SIGN_ONE => drop(dsa.sign_on(&stream, &one, &by_one)?),
                SIGN_EACH => drop(sign_each()?),
                VERIFY_ONE => drop(dsa.verify_on(&stream, &one_public, &by_one, &signed_by_one)?),
                _ => {
                    let keys = dsa.verifying_keys_on(&stream, &public)?;
                    drop(dsa.verify_on(&stream, &keys, &by_each, &signed_by_each)?);
                }
            }
            Ok(())
        })?;
        let moved = match operation {
            KEYGEN => sizes.public_key + sizes.secret_key,
            SIGN_ONE | VERIFY_ONE => sizes.signature,
            SIGN_EACH => sizes.signature + sizes.secret_key,
            _ => sizes.signature + sizes.public_key,
        };
        let logic = permutations(parameters, attempts, operation) * PERMUTATION as f64;
        let line = Measurement::new(M::NAME, operation, batch, times);
        let line = line.above(Roofline::new(None, Some(logic), moved, &bench.peaks));
        lines.push(line.checked("every signature verified, and those of other messages refused", right));
    }
    Ok(lines)
}

fn on_host<M: SignatureScheme>(bench: &Bench, wanted: &Wanted, batch: usize) -> Result<Vec<Measurement>> {
    let dsa = Signatures::<M>::new(&Engine::on(bench.device.clone()))?;
    let sizes = M::SIZES;
    let pinned = |size: usize| bench.device.pinned(batch * size);
    let (mut public, mut secret) = (pinned(sizes.public_key)?, pinned(sizes.secret_key)?);
    let mut signatures = pinned(sizes.signature)?;
    let texts = bytes(bench.seed, MESSAGE * batch);
    let texts: Vec<&[u8]> = texts.chunks_exact(MESSAGE).collect();
    let messages = Messages::new(&texts);
    let mut lines = Vec::new();
    for operation in OPERATIONS.into_iter().filter(|operation| wanted.has(operation) || *operation == KEYGEN) {
        let keys = if [SIGN_ONE, VERIFY_ONE].contains(&operation) { 1 } else { batch };
        if [VERIFY_ONE, VERIFY_EACH].contains(&operation) {
            dsa.sign(&secret[..keys * sizes.secret_key], &messages, &mut signatures)?.into_result()?;
        }
        let mut right = true;
        let mut check = |status: BatchStatus<M::Error>| right &= status.errors().is_empty();
        let times = measure::wall(wanted.effort(operation, bench), || {
            match operation {
                KEYGEN => check(dsa.generate(&mut public, &mut secret)?),
                SIGN_ONE | SIGN_EACH => {
                    check(dsa.sign(&secret[..keys * sizes.secret_key], &messages, &mut signatures)?);
                }
                _ => check(dsa.verify(&public[..keys * sizes.public_key], &messages, &signatures)?),
            }
            Ok(())
        })?;
        if [SIGN_ONE, SIGN_EACH].contains(&operation) {
            let verified = dsa.verify(&public[..keys * sizes.public_key], &messages, &signatures)?;
            right &= verified.errors().is_empty();
        }
        let line = Measurement::new(M::NAME, operation, batch, times);
        let line = Measurement { memory: Memory::Pinned, ..line };
        if wanted.has(operation) {
            lines.push(line.checked("statuses, and verification of all signatures", right));
        }
    }
    Ok(lines)
}
