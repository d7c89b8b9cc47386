//! Plans of all parameter sets, with sample inputs and oracles, for the engine's test kit.

use ringforge::run::AGAIN;
use ringforge::{Device, Limits, Planner, Result};
use ringforge_batch::{Keys, OK, Randomness, SignatureOperation, SignatureScheme, status};
use ringforge_ml_dsa::{MlDsa44, MlDsa65, MlDsa87, SignatureError};
use ringforge_testkit::{Named, NamedPlan, Scheme, bytes};

use crate::support::{ORACLES, Oracle, damage, in_context, keys};

use Randomness::{RandomKey, Seeds};
use SignatureOperation::{
    Attempt, Begin, Generate, Release, Represent, SigningKeys, VerifiedRelease, Verify, VerifyMessages, VerifyingKeys,
};

/// Contents of plan arguments, by name.
type Held = Vec<(&'static str, Vec<u8>)>;

/// ML-DSA as a scheme for the engine's test kit.
#[derive(Debug)]
pub(crate) struct Sets;

impl Scheme for Sets {
    const NAME: &'static str = "ML-DSA";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        let [first, second, third] = ORACLES;
        let sets =
            [plans::<MlDsa44>(first, limits)?, plans::<MlDsa65>(second, limits)?, plans::<MlDsa87>(third, limits)?];
        Ok(sets.concat())
    }
}

fn plans<M: SignatureScheme>(oracle: Oracle, limits: &Limits) -> Result<Vec<NamedPlan>> {
    let planner = Planner::new(limits.clone());
    let of_keys = |keys| {
        [
            Represent(keys, 64),
            Represent(keys, 512),
            Begin(keys, Seeds),
            Attempt(keys),
            VerifiedRelease(keys),
            Verify(keys),
            VerifyMessages(keys, 64),
        ]
    };
    let all =
        [Generate(Seeds), Generate(RandomKey), SigningKeys, VerifyingKeys, Begin(Keys::PerItem, RandomKey), Release];
    let all = all.into_iter().chain(of_keys(Keys::One)).chain(of_keys(Keys::PerItem));
    let named = |operation: SignatureOperation| {
        let plan = operation.plan::<M>(&planner)?;
        let named = NamedPlan::new(plan.title().to_owned(), plan)
            .with_secrets(operation.secrets())
            .batches(&[9])
            .few_emulated()
            .sampled(move |seed, batch| inputs::<M>(&oracle, operation, seed, batch));
        Ok(match operation {
            Generate(_) => named.expecting(move |batch, inputs| key_pairs(&oracle, batch, inputs)),
            Verify(_) | VerifyMessages(..) => named.expecting(|batch, _| vec![("statuses", statuses(batch).concat())]),
            VerifiedRelease(_) => named.expecting(released::<M>),
            _ => named,
        })
    };
    all.map(named).collect()
}

/// The number of keys of a batch.
fn count(keys: Keys, batch: usize) -> usize {
    if keys.is_one() { 1 } else { batch }
}

/// Runs an operation on the CPU, and returns these outputs.
fn run<M: SignatureScheme>(operation: SignatureOperation, batch: usize, inputs: &Held, names: &[&'static str]) -> Held {
    let plan = operation.plan::<M>(&Planner::default()).expect("a plan");
    let program = Device::cpu().compile(&plan).expect("a program");
    let buffer = |name: &str| vec![0; batch * plan.arg(name).expect("an output").bytes];
    let mut outputs: Held = plan
        .args()
        .iter()
        .filter(|arg| names.contains(&&*arg.name))
        .map(|arg| (name_of(&arg.name, names), buffer(&arg.name)))
        .collect();
    let call = inputs.iter().fold(program.on_host(batch), |call, (name, bytes)| call.input(name, bytes));
    outputs.iter_mut().fold(call, |call, (name, bytes)| call.output(name, bytes)).run().expect("outputs");
    outputs
}

fn name_of(name: &str, names: &[&'static str]) -> &'static str {
    names.iter().find(|own| **own == name).expect("a name of the list")
}

const PREPARED: [&str; 4] = ["hashes", "common", "public", "secret"];

/// Returns sample inputs for a plan. The test kit fills all other inputs with random bytes.
fn inputs<M: SignatureScheme>(oracle: &Oracle, operation: SignatureOperation, seed: u64, batch: usize) -> Held {
    match operation {
        Generate(_) | Begin(..) => vec![],
        SigningKeys => vec![("secret keys", keys(oracle, seed, batch)[1].clone())],
        VerifyingKeys => vec![("public keys", keys(oracle, seed, batch)[0].clone())],
        Represent(_, slot) => {
            let mut slots = bytes(seed, slot * batch);
            for (item, slot) in slots.chunks_exact_mut(slot).enumerate() {
                // lengths at and next to the ends of a block, of a word, and of the slot
                let most = slot.len() - 8;
                let length = [0, most, 71, 72, 73, 1, 7, 8, 207, 208, 209][(item + batch) % 11].min(most);
                slot[..8].copy_from_slice(&(length as u64).to_le_bytes());
                slot[8 + length..].fill(0);
            }
            vec![("messages", slots)]
        }
        Attempt(each) => {
            let count = count(each, batch);
            let [_, secret] = keys(oracle, seed, count);
            let mut held = run::<M>(SigningKeys, count, &vec![("secret keys", secret)], &PREPARED);
            held.retain(|(name, _)| ["common", "secret"].contains(name));
            let attempts = (0..batch as u32).flat_map(|item| (item * item % 814).to_le_bytes()).collect();
            held.push(("attempt", attempts));
            held
        }
        Release => vec![("attempted", attempted(batch))],
        VerifiedRelease(each) => {
            let (mut held, signatures) = signed::<M>(oracle, each, seed, batch);
            let slot = M::SIZES.signature.next_multiple_of(4);
            let padded = |signature: &[u8]| [signature, &vec![0; slot - signature.len()]].concat();
            held.push(("slots", signatures.chunks_exact(M::SIZES.signature).flat_map(padded).collect()));
            held.push(("attempted", attempted(batch)));
            held
        }
        Verify(each) | VerifyMessages(each, _) => {
            let (mut held, signatures) = signed::<M>(oracle, each, seed, batch);
            if let VerifyMessages(..) = operation {
                held = vec![("public keys", keys(oracle, seed, count(each, batch))[0].clone()), slots(batch)];
            }
            held.push(("signatures", signatures));
            held
        }
    }
}

/// Statuses of attempts, one in three of which has failed.
fn attempted(batch: usize) -> Vec<u8> {
    (0..batch).flat_map(|item| if item % 3 == 1 { AGAIN } else { OK }.to_le_bytes()).collect()
}

/// Keys of verification, representatives of messages, and their signatures by the crate `ml-dsa`, of which three in four
/// are damaged.
fn signed<M: SignatureScheme>(oracle: &Oracle, each: Keys, seed: u64, batch: usize) -> (Held, Vec<u8>) {
    let count = count(each, batch);
    let [public, secret] = keys(oracle, seed, count);
    let prepared = run::<M>(VerifyingKeys, count, &vec![("public keys", public)], &PREPARED);
    let mut signatures = vec![];
    for item in 0..batch {
        let message = message(batch, item);
        let key = &secret[item % count * M::SIZES.secret_key..][..M::SIZES.secret_key];
        let mut signature = (oracle.sign)(key, &message, &[item as u8; 32]);
        damage(&oracle.parameters, batch * batch + item, &mut signature);
        signatures.extend(signature);
    }
    let (hashes, mut held): (Held, Held) = prepared.into_iter().partition(|(name, _)| *name == "hashes");
    let inputs = [hashes, vec![slots(batch)]].concat();
    held.extend(run::<M>(Represent(each, 64), batch, &inputs, &["representatives"]));
    (held, signatures)
}

/// Slots of the messages of a batch.
fn slots(batch: usize) -> (&'static str, Vec<u8>) {
    let slot = |message: Vec<u8>| {
        let zeros = vec![0; 64 - 8 - message.len()];
        [&(message.len() as u64).to_le_bytes()[..], &message, &zeros].concat()
    };
    ("messages", (0..batch).flat_map(|item| slot(message(batch, item))).collect())
}

fn message(batch: usize, item: usize) -> Vec<u8> {
    in_context(&[3; 5], &[batch as u8, item as u8])
}

/// The key pairs of the crate `ml-dsa`, from seeds or from the blocks of a random key.
fn key_pairs(oracle: &Oracle, batch: usize, inputs: &Named) -> Held {
    let seeds = inputs.get("seeds").cloned().unwrap_or_else(|| {
        let random_key = ringforge::RandomKey::from_bytes(&inputs["random_key"]).expect("as many bytes as draws have");
        (0..batch).flat_map(|item| random_key.block(item as u64, 0)[..32].to_vec()).collect()
    });
    let mut made = vec![("public keys", vec![]), ("secret keys", vec![])];
    for seed in seeds.chunks_exact(32) {
        made.iter_mut().zip((oracle.generate)(seed)).for_each(|((_, all), key)| all.extend(key));
    }
    made
}

/// The statuses of the signatures of [`signed`].
fn statuses(batch: usize) -> Vec<[u8; 4]> {
    let is_damaged = |item: usize| !(batch * batch + item).is_multiple_of(4);
    (0..batch).map(|item| status(is_damaged(item).then_some(SignatureError::Invalid)).to_le_bytes()).collect()
}

/// The released signatures among those of [`signed`]: the ones that are ok by both statuses.
fn released<M: SignatureScheme>(batch: usize, inputs: &Named) -> Held {
    let (mut signatures, mut all) = (vec![], vec![]);
    let slots = inputs["slots"].chunks_exact(M::SIZES.signature.next_multiple_of(4));
    for ((slot, attempted), verified) in slots.zip(inputs["attempted"].chunks_exact(4)).zip(statuses(batch)) {
        let status = if *attempted == OK.to_le_bytes() { verified } else { attempted.try_into().expect("a word") };
        let keep = u8::from(status == OK.to_le_bytes());
        signatures.extend(slot[..M::SIZES.signature].iter().map(|byte| byte * keep));
        all.extend(status);
    }
    vec![("signatures", signatures), ("statuses", all)]
}
