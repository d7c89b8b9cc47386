//! SM2: signing and verification of digests and messages on the device. After the timed runs, all signatures must
//! verify. Then one signature is corrupted, which must be the only one rejected.

mod roofline;

use anyhow::Result;
use ringforge::{Buffer, Engine, Limits, Plan, Stream};
use ringforge_sm2::{DEFAULT_ID, Digests, Identities, Mode, Signer, Verifier, batch_status, full_plans};

use crate::environment;
use crate::measure::{self, Times};
use crate::memory;
use crate::record::Measurement;
use crate::roofline::Roofline;
use crate::sample;
use crate::session::Bench;
use crate::suite::{Case, Quoted, Scope, Suite};

use roofline::Operation;

/// The suite of SM2 signatures.
pub static SUITE: Suite = Suite {
    name: "SM2",
    title: "SM2 signatures",
    about: "Signatures with everything on the device, always over the same buffers, nonces drawn on the device. Digests are \
            given, but for the lines about messages of 64 bytes, which SM3 hashes: signing with a Z_A that was made before, \
            verification with a Z_A made for each key in the run.",
    headline: Some(("sign, one key", "")),
    quoted: &[Quoted {
        case: "sign, one key",
        peer: "gECC",
        source: "run by us on an H200; the best code that signs on this chip",
        device: Some("H200"),
        seconds: &[("", 1.0 / 17.4e6)],
    }],
    cases,
    ..Suite::NONE
};

/// Batches on a GPU; the two smaller ones show the latency of few items.
const GPU_BATCHES: [usize; 3] = [1 << 20, 1 << 12, 1 << 6];
/// Items per CPU thread in a batch on a CPU.
const ITEMS_PER_THREAD: usize = 1 << 10;
/// Number of items of a GPU's batch, from the first on, that the CPU verifies too.
const COMPARED: usize = 1000;
/// Number of cached keys that verifications use.
const CACHED: usize = 256;
/// Bytes per message.
const MESSAGE: usize = 64;
/// Bytes of a private and a public key.
const KEY_PAIR: usize = 32 + 64;
/// Bytes of a digest, a signature and a status.
const SIGNED: usize = 32 + 64 + 4;

const CASES: [(&str, What); 6] = [
    ("sign, one key", What::Sign(Mode::Throughput)),
    ("sign, one key, scan", What::Sign(Mode::Scan)),
    ("verify", What::Verify),
    ("verify, cached keys", What::VerifyCached),
    ("sign messages of 64 bytes", What::SignMessages),
    ("verify messages of 64 bytes", What::VerifyMessages),
];

fn cases(scope: &Scope) -> Result<Vec<Case>> {
    let usual = match (scope.cpu, scope.quick) {
        (true, _) => vec![ITEMS_PER_THREAD * environment::threads()],
        (false, true) => GPU_BATCHES[..1].to_vec(),
        _ => GPU_BATCHES.to_vec(),
    };
    let case = |(name, what): (&'static str, What)| {
        Case::of_batches(name, "", scope.batches(&usual), move |bench, batch| {
            let (times, right) = what.measure(bench, batch)?;
            let line = Measurement::new(name, "", batch, times).above(what.floor(bench));
            Ok(line.checked("every signature verified, and one that is spoilt refused, it alone", right))
        })
    };
    // the other cases need further kernels, which take long to compile
    Ok(CASES.into_iter().take(if scope.check { 3 } else { CASES.len() }).map(case).collect())
}

/// The operation that a case measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Sign(Mode),
    Verify,
    VerifyCached,
    SignMessages,
    VerifyMessages,
}

impl What {
    fn floor(self, bench: &Bench) -> Roofline {
        let (digest, pair, word) = (32, 64, 4);
        let (operation, bytes) = match self {
            Self::Sign(_) | Self::SignMessages => (Operation::Sign, digest + pair + word),
            Self::Verify | Self::VerifyMessages => (Operation::Verify, digest + 2 * pair + word),
            Self::VerifyCached => (Operation::VerifyCached, digest + pair + 2 * word),
        };
        // SM3 blocks of a message of this length with its padding
        let blocks = |bytes: usize| (bytes + 8) / 64 + 1;
        let (message, identity) = (blocks(digest + MESSAGE), blocks(2 + DEFAULT_ID.len() + 4 * 32 + pair));
        let (blocks, text) = match self {
            Self::SignMessages => (message, MESSAGE + word),
            Self::VerifyMessages => (identity + message, MESSAGE + word),
            _ => (0, 0),
        };
        Roofline::of_sm2(operation, blocks, bytes + text, &bench.peaks)
    }

    /// Returns the times, and true if all signatures are valid and a corrupted one is rejected.
    fn measure(self, Bench { device, effort, seed, .. }: &Bench, batch: usize) -> Result<(Times, bool)> {
        let (stream, engine) = (device.stream()?, Engine::on(device.clone()));
        let mode = if let What::Sign(mode) = self { mode } else { Mode::Throughput };
        let (signer, verifier) = (Signer::new(&engine, mode)?, Verifier::new(&engine)?);
        let keys = if matches!(self, What::Verify | What::VerifyMessages) { batch } else { CACHED.min(batch) };
        memory::fits(batch, KEY_PAIR + MESSAGE + SIGNED)?;
        let (mut private, mut public) = (vec![0; 32 * keys], vec![0; 64 * keys]);
        signer.generate(&mut private, &mut public)?.into_result()?;
        let by_one = matches!(self, What::Sign(_) | What::SignMessages);
        let repeated = |keys: &[u8], size: usize| -> Vec<u8> {
            let period = if by_one { &keys[..size] } else { keys };
            period.iter().copied().cycle().take(batch * size).collect()
        };
        let prepared =
            signer.prepare(&stream, &if by_one { private[..32].to_vec() } else { repeated(&private, 32) })?;
        let public_keys = repeated(&public, 64);
        let all_public = stream.upload(&public_keys)?;

        let mut hashed = match self {
            What::SignMessages | What::VerifyMessages => {
                Some(Hashed::new(&engine, &stream, &public_keys, if by_one { 1 } else { batch }, *seed)?)
            }
            _ => None,
        };
        let mut digests = stream.upload(&sample::bytes(*seed, 32, batch)?)?;
        if let Some(hashed) = &mut hashed {
            hashed.digests(&stream, true, &mut digests)?;
        }
        let (mut signatures, mut statuses) = (device.buffer(64 * batch)?, device.buffer(4 * batch)?);
        signer.sign_on(&stream, &prepared, &digests, &mut signatures, &mut statuses)?;
        batch_status(&stream, &statuses)?.into_result()?;
        let cached = match self {
            What::VerifyCached => verifier.cache(&stream, &public, usize::MAX)?.ok(),
            _ => None,
        };
        let numbers = stream.upload(&(0..batch as u32).map(|i| i % keys as u32).collect::<Vec<_>>())?;

        let verify = |digests: &Buffer, signatures: &Buffer, statuses: &mut Buffer| match &cached {
            Some(cached) => cached.verify_on(&stream, &numbers, digests, signatures, statuses),
            None => verifier.verify_on(&stream, &all_public, digests, signatures, statuses),
        };
        let mut sets = [(digests, signatures, statuses)];
        let times = measure::runs(&stream, &mut sets, *effort, |(digests, signatures, statuses)| {
            if let Some(hashed) = &mut hashed {
                hashed.digests(&stream, !by_one, digests)?;
            }
            if by_one {
                return Ok(signer.sign_on(&stream, &prepared, digests, signatures, statuses)?);
            }
            Ok(verify(digests, signatures, statuses)?)
        })?;
        let [(digests, mut signatures, mut statuses)] = sets;
        verify(&digests, &signatures, &mut statuses)?;
        let fine = batch_status(&stream, &statuses)?.into_result().is_ok();
        let mut spoilt = stream.download::<u8>(&signatures)?;
        spoilt[64 * (batch / 2) + 50] ^= 4;
        stream.write(&mut signatures, &spoilt)?;
        verify(&digests, &signatures, &mut statuses)?;
        let found = batch_status(&stream, &statuses)?;
        let alone = matches!(found.errors(), [error] if error.item == batch / 2);
        Ok((
            times,
            fine && alone
                && (device.limits().is_cpu() || {
                    let (few, digests) = (batch.min(COMPARED), stream.download::<u8>(&digests)?);
                    let found = Verifier::new(&Engine::cpu())?.verify(
                        &public_keys[..64 * few],
                        &digests[..32 * few],
                        &spoilt[..64 * few],
                    )?;
                    found.errors().iter().all(|error| error.item == batch / 2)
                }),
        ))
    }
}

/// Messages on the device, with the programs that hash them.
struct Hashed {
    identities: Identities,
    digests: Digests,
    id: [Buffer; 2],
    signers: Buffer,
    /// The hash Z_A of each signer's identity and public key.
    named: Buffer,
    messages: [Buffer; 2],
}

impl Hashed {
    fn new(engine: &Engine, stream: &Stream, public_keys: &[u8], signers: usize, seed: u64) -> Result<Self> {
        let batch = public_keys.len() / 64;
        Ok(Self {
            identities: Identities::new(engine, DEFAULT_ID.len())?,
            digests: Digests::new(engine, MESSAGE)?,
            id: [stream.upload(DEFAULT_ID)?, stream.upload(&[DEFAULT_ID.len() as u32])?],
            signers: stream.upload(&public_keys[..64 * signers])?,
            named: engine.device().buffer(32 * signers)?,
            messages: [
                stream.upload(&sample::bytes(seed, MESSAGE, batch)?)?,
                stream.upload(&vec![MESSAGE as u32; batch])?,
            ],
        })
    }

    /// Hashes all messages. If `identify` is set, first computes Z_A, the hash of each signer's identity; else uses the
    /// Z_A of an earlier call.
    fn digests(&mut self, stream: &Stream, identify: bool, to: &mut Buffer) -> Result<()> {
        let ([id, length], [messages, lengths]) = (&self.id, &self.messages);
        if identify {
            self.identities.identify_on(stream, id, length, &self.signers, &mut self.named)?;
        }
        Ok(self.digests.digest_on(stream, &self.named, messages, lengths, to)?)
    }
}

/// The plans of signing and verification that `ringforge check` runs, at full size.
pub fn checked_plans(limits: &Limits) -> Result<Vec<Plan>> {
    const CHECKED: [&str; 4] = ["generate", "prepare", "sign", "verify"];
    let is_checked = |name: &str| CHECKED.iter().any(|what| name.starts_with(&format!("SM2 {what}, full size")));
    Ok(full_plans(limits)?.into_iter().filter(|plan| is_checked(&plan.name)).map(|plan| plan.plan).collect())
}
