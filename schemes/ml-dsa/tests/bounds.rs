//! Tests of the bounds of FIPS 204 at their edges, of what rejected attempts leave, and of signatures that must not be
//! released.

use ringforge::words::pack_bits;
use ringforge::{Device, Engine};
use ringforge_batch::{Keys, Messages, OK, SignatureOperation, SignatureScheme, Signatures};
use ringforge_ml_dsa::MlDsa44;
use ringforge_testkit::{Random, bytes, devices, seed};
use shake::{ExtendableOutput, Shake128, Shake256, Update, XofReader};

use crate::support::{ORACLES, in_context, keys};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const N: usize = 256;
const Q: u64 = 8_380_417;
const GAMMA1: u64 = 1 << 17;
const BETA: u64 = 78;
/// Bytes of a packed polynomial of t0, and of all of t0.
const T0_ROW: usize = 13 * N / 8;
const T0: usize = 4 * T0_ROW;

fn hash(parts: &[&[u8]], length: usize) -> Vec<u8> {
    let mut hash = Shake256::default();
    parts.iter().for_each(|part| hash.update(part));
    let mut out = vec![0; length];
    hash.finalize_xof().read(&mut out);
    out
}

/// Replaces t0 of a secret key of ML-DSA-44.
fn with_t0(mut secret_key: Vec<u8>, t0: impl Fn(usize) -> i32) -> Vec<u8> {
    let start = secret_key.len() - T0;
    for (row, out) in secret_key[start..].chunks_exact_mut(T0_ROW).enumerate() {
        pack_bits(13, (0..N).map(|i| ((1 << 12) - t0(row * N + i)) as u32), out);
    }
    secret_key
}

#[test]
fn bounds_of_attempts_are_those_of_fips_204() -> Outcome {
    let (oracle, batch) = (&ORACLES[0], 64);
    let [_, secret_key] = keys(oracle, seed(), 1);
    let mut random = Random::new(seed());
    let signs: Vec<i32> = (0..4 * N).map(|_| if random.below(2) == 0 { 1 } else { -1 }).collect();
    // with the first t0, c t0 is often too large; with the second, there are often too many hints
    let (large, many) = (|i: usize| if i < 2 * N { 4095 * signs[i] } else { 0 }, |i: usize| 3000 * signs[i]);
    for key in [with_t0(secret_key.clone(), large), with_t0(secret_key, many)] {
        let dsa = Signatures::<MlDsa44>::new(&Engine::cpu())?.without_verification();
        let texts: Vec<[u8; 8]> = (0..batch as u64).map(u64::to_le_bytes).collect();
        let messages: Vec<&[u8]> = texts.iter().map(|text| &text[..]).collect();
        let (rnd, mut signatures) = (bytes(seed(), 32 * batch), vec![0; batch * MlDsa44::SIZES.signature]);
        dsa.sign_from(&rnd, &key, &Messages::new(&messages), &mut signatures)?.into_result()?;
        for (item, signature) in signatures.chunks(MlDsa44::SIZES.signature).enumerate() {
            let theirs = (oracle.sign)(&key, &in_context(b"", messages[item]), &rnd[32 * item..][..32]);
            assert!(signature == theirs, "item {item}");
        }
    }
    Ok(())
}

/// The bytes of a polynomial's evaluations of A, by `RejNTTPoly` of FIPS 204.
fn sample(rho: &[u8], column: u8, row: u8) -> Vec<u64> {
    let mut xof = Shake128::default().chain(rho).chain([column, row]).finalize_xof();
    let mut values = Vec::new();
    while values.len() < N {
        let mut bytes = [0; 4];
        xof.read(&mut bytes[..3]);
        let value = u64::from(u32::from_le_bytes(bytes) & 0x7f_ffff);
        values.extend((value < Q).then_some(value));
    }
    values
}

/// The powers of the points of FIPS 204's evaluations: 1753^(2 brv(i) + 1).
fn powers(i: usize) -> impl Iterator<Item = u64> {
    let exponent = 2 * u32::from((i as u8).reverse_bits()) + 1;
    let point = (0..exponent).fold(1, |product, _| product * 1753 % Q);
    core::iter::successors(Some(1), move |power| Some(power * point % Q))
}

/// A signature that is valid but for the size of `z`, for the public key with t1 = 0, under which any z can be signed. It has
/// hints at these places of each polynomial.
fn forged(public_key: &[u8], message: &[u8], z: &[Vec<u64>], hints: [&[u8]; 4]) -> Vec<u8> {
    let values: Vec<Vec<u64>> = z
        .iter()
        .map(|z| (0..N).map(|i| powers(i).zip(z).fold(0, |sum, (power, z)| (sum + power * z) % Q)).collect())
        .collect();
    let mut high = vec![0; 4 * 6 * N / 8];
    for ((row, out), hints) in (0..).zip(high.chunks_exact_mut(6 * N / 8)).zip(hints) {
        let mut w = vec![0; N];
        for (column, z) in (0..).zip(&values) {
            let a = sample(&public_key[..32], column, row);
            w.iter_mut().zip(a.iter().zip(z)).for_each(|(w, (a, z))| *w = (*w + a * z) % Q);
        }
        // coefficient j: the mean of the evaluations times the inverse powers, and 1 / 256 modulo q is q - (q - 1) / 256
        let mut sums = vec![0; N];
        for (i, w) in w.iter().enumerate() {
            let inverse = powers(i).nth(511).expect("a power");
            let back = core::iter::successors(Some(1), |power| Some(power * inverse % Q));
            sums.iter_mut().zip(back).for_each(|(sum, power)| *sum = (*sum + w * power) % Q);
        }
        let coefficients = sums.iter().map(|sum| sum * (Q - (Q - 1) / 256) % Q);
        pack_bits(6, (0..).zip(coefficients).map(|(i, w)| corrected(w, hints.contains(&i))), out);
    }
    let tr = hash(&[public_key], 64);
    let mu = hash(&[&tr, &in_context(b"", message)], 64);
    let mut signature = hash(&[&mu, &high], 32);
    for z in z {
        let mut packed = vec![0; 18 * N / 8];
        pack_bits(18, z.iter().map(|z| ((GAMMA1 + Q - z) % Q) as u32), &mut packed);
        signature.extend(packed);
    }
    let (mut places, mut ends) = (hints.concat(), Vec::new());
    for hints in hints {
        ends.push(ends.last().copied().unwrap_or(0) + hints.len() as u8);
    }
    places.resize(80, 0);
    [signature, places, ends].concat()
}

/// `UseHint` of FIPS 204.
fn corrected(w: u64, hint: bool) -> u32 {
    let step = (Q - 1) / 44;
    let high = (w + step / 2 - 1) / step;
    let is_positive = w > high * step;
    let high = match (hint, is_positive) {
        (false, _) => high,
        (true, true) => high % 44 + 1,
        (true, false) => high % 44 + 43,
    };
    (high % 44) as u32
}

/// Verifies signatures of one message on every device, beside the crate `ml-dsa`.
fn verdicts(public_key: &[u8], message: &[u8], cases: &[(Vec<u8>, bool)]) -> Outcome {
    let all: Vec<u8> = cases.iter().flat_map(|(signature, _)| signature.clone()).collect();
    for (i, (signature, is_valid)) in cases.iter().enumerate() {
        let theirs = (ORACLES[0].verify)(public_key, &in_context(b"", message), signature);
        assert_eq!(theirs, *is_valid, "case {i}");
    }
    for device in devices() {
        let dsa = Signatures::<MlDsa44>::new(&Engine::on(device.clone()))?;
        let status = dsa.verify(public_key, &Messages::new(&vec![message; cases.len()]), &all)?;
        let refused: Vec<usize> = status.errors().iter().map(|error| error.item).collect();
        let wanted: Vec<usize> = (0..cases.len()).filter(|i| !cases[*i].1).collect();
        assert_eq!(refused, wanted, "{device}");
    }
    Ok(())
}

/// A random public key with t1 = 0.
fn zero_key() -> Vec<u8> {
    let mut public_key = bytes(seed(), 32);
    public_key.resize(MlDsa44::SIZES.public_key, 0);
    public_key
}

/// Polynomials with small random coefficients.
fn small(random: &mut Random) -> Vec<Vec<u64>> {
    (0..4).map(|_| (0..N).map(|_| (Q + random.bits() % 2000 - 1000) % Q).collect()).collect()
}

#[test]
fn bounds_of_verification_are_those_of_fips_204() -> Outcome {
    let (public_key, mut random, least) = (zero_key(), Random::new(seed()), GAMMA1 - BETA);
    let edges =
        [(0, true), (least - 1, true), (least, false), (Q - least + 1, true), (Q - least, false), (GAMMA1, false)];
    let cases = edges.map(|(edge, is_valid)| {
        let mut z = small(&mut random);
        z[random.below(4)][random.below(N)] = edge;
        (forged(&public_key, b"a message", &z, [&[]; 4]), is_valid)
    });
    verdicts(&public_key, b"a message", &cases)
}

#[test]
fn encodings_of_hints_are_those_of_fips_204() -> Outcome {
    let (public_key, z) = (zero_key(), small(&mut Random::new(seed())));
    let all: Vec<u8> = (0..80).collect();
    let plain = forged(&public_key, b"a message", &z, [&[3, 5], &[], &[0, 9, 255], &[]]);
    let full = forged(&public_key, b"a message", &z, [&[], &all, &[], &[]]);
    // hints begin here: 80 places and 4 ends
    let at = plain.len() - 84;
    let changed = |changes: &[(usize, u8)]| {
        let mut signature = plain.clone();
        changes.iter().for_each(|(place, byte)| signature[at + place] = *byte);
        (signature, false)
    };
    let cases = [
        (plain.clone(), true),
        (full.clone(), true),
        // the same hints in another order, twice, and with padding
        changed(&[(0, 5), (1, 3)]),
        changed(&[(1, 3), (2, 5), (3, 0), (4, 9), (5, 255), (80, 3), (81, 3), (82, 6), (83, 6)]),
        changed(&[(5, 1)]),
        changed(&[(79, 255)]),
        // ends that descend or are too large
        changed(&[(81, 1)]),
        changed(&[(83, 4)]),
        changed(&[(83, 81)]),
        changed(&[(80, 255)]),
    ];
    verdicts(&public_key, b"a message", &cases)
}

#[test]
fn each_byte_of_a_challenge_is_compared() -> Outcome {
    let public_key = zero_key();
    // with t1 = 0, the commitment does not depend on the challenge
    let plain = forged(&public_key, b"a message", &small(&mut Random::new(seed())), [&[]; 4]);
    let changed = (0..32).map(|place| {
        let mut signature = plain.clone();
        signature[place] ^= 1 << (place % 8);
        (signature, false)
    });
    verdicts(&public_key, b"a message", &changed.chain([(plain.clone(), true)]).collect::<Vec<_>>())
}

#[test]
fn wrong_signatures_are_not_released() -> Outcome {
    let [public_key, secret_key] = keys(&ORACLES[0], seed(), 1);
    // a fault of memory: hints for another t0
    let faulty = with_t0(secret_key, |i| (i as i32 * 37) % 2000 - 1000);
    let messages = [&b"a message"[..]; 9];
    for device in devices() {
        let dsa = Signatures::<MlDsa44>::new(&Engine::on(device.clone()))?;
        let mut signatures = vec![1; 9 * MlDsa44::SIZES.signature];
        let status = dsa.sign(&faulty, &Messages::new(&messages), &mut signatures)?;
        assert_eq!(status.errors().len(), 9, "{device}");
        assert!(signatures.iter().all(|byte| *byte == 0), "{device}");
        let careless = dsa.without_verification();
        careless.sign(&faulty, &Messages::new(&messages), &mut signatures)?.into_result()?;
        let wrong = Signatures::<MlDsa44>::new(&Engine::on(device.clone()))?;
        assert_eq!(wrong.verify(&public_key, &Messages::new(&messages), &signatures)?.errors().len(), 9);
    }
    Ok(())
}

#[test]
fn rejected_attempts_leave_nothing() -> Outcome {
    let attempts = 64;
    let [_, secret_key] = keys(&ORACLES[0], seed(), 1);
    let (engine, device) = (Engine::cpu(), Device::cpu());
    let program = |operation: SignatureOperation| device.compile(&operation.plan::<MlDsa44>(engine.planner())?);
    let expand = program(SignatureOperation::SigningKeys)?;
    let bytes_of = |name: &str| vec![0u8; expand.plan().arg(name).expect("an output").bytes];
    let mut parts = ["hashes", "common", "public", "secret"].map(bytes_of);
    let mut call = expand.on_host(1).input("secret keys", &secret_key);
    for (name, part) in ["hashes", "common", "public", "secret"].into_iter().zip(&mut parts) {
        call = call.output(name, part);
    }
    call.run()?;
    let [_, common, _, secret] = parts;
    let attempt = program(SignatureOperation::Attempt(Keys::One))?;
    let slot = attempt.plan().arg("slots").expect("an output").bytes;
    let (mut slots, mut statuses) = (vec![1u8; attempts * slot], vec![0u32; attempts]);
    let (representatives, seeds) = (bytes(1, 64 * attempts), bytes(seed(), 64 * attempts));
    let numbers: Vec<u32> = (0..attempts as u32).collect();
    let call = attempt.on_host(attempts).input("common", &common).input("secret", &secret);
    let call = call.input("representatives", &representatives).input("seeds of attempts", &seeds);
    call.input("attempt", &numbers).output("slots", &mut slots).output("statuses", &mut statuses).run()?;
    let succeeded = statuses.iter().filter(|status| **status == OK).count();
    assert!((3..40).contains(&succeeded), "{succeeded} of {attempts} attempts succeeded");
    for (status, slot) in statuses.iter().zip(slots.chunks(slot)) {
        assert_eq!(*status == OK, slot.iter().any(|byte| *byte != 0));
    }
    Ok(())
}
