//! The key encapsulation mechanisms that are checked and measured.

use core::fmt;

use anyhow::Result;
use ringforge::testkit::NamedPlan;
use ringforge::{Device, Engine, Error, Limits, Plan, Planner};
use ringforge_batch::{Batch, KemScheme, Operation as Each, Randomness, Sizes};
use ringforge_ctru::{Cntr512, Cntr768, Cntr1024, Ctru512, Ctru768, Ctru1024, EncryptionSizes};
use ringforge_ctru_prime::{CtruPrime653, CtruPrime761, CtruPrime1277};
use ringforge_example_ml_kem::{MlKem512, MlKem768, MlKem1024};

/// Any of the mechanisms, ready on a device: as [`Batch`], whatever it finds wrong with items, which is an error.
pub(crate) trait Kem {
    fn sizes(&self) -> Sizes;
    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<()>;
    fn encapsulate(&self, public_keys: &[u8], ciphertexts: &mut [u8], shared_keys: &mut [u8]) -> Result<()>;
    fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<()>;
    /// What is wrong with items, as text: nothing where all are fine.
    fn generate_from(&self, seeds: &[u8], public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Vec<String>>;
    fn encapsulate_from(&self, seeds: &[u8], public_keys: &[u8], ciphertexts: &mut [u8], keys: &mut [u8])
    -> Result<()>;
}

impl<M: KemScheme> Kem for Batch<M> {
    fn sizes(&self) -> Sizes {
        M::SIZES
    }

    fn generate(&self, public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<()> {
        Ok(self.generate(public_keys, secret_keys)?.into_result()?)
    }

    fn encapsulate(&self, public_keys: &[u8], ciphertexts: &mut [u8], shared_keys: &mut [u8]) -> Result<()> {
        Ok(self.encapsulate(public_keys, ciphertexts, shared_keys)?.into_result()?)
    }

    fn decapsulate(&self, secret_keys: &[u8], ciphertexts: &[u8], shared_keys: &mut [u8]) -> Result<()> {
        Ok(self.decapsulate(secret_keys, ciphertexts, shared_keys)?.into_result()?)
    }

    fn generate_from(&self, seeds: &[u8], public_keys: &mut [u8], secret_keys: &mut [u8]) -> Result<Vec<String>> {
        let status = self.generate_from(seeds, public_keys, secret_keys)?;
        Ok(status.errors().iter().map(ToString::to_string).collect())
    }

    fn encapsulate_from(
        &self,
        seeds: &[u8],
        public_keys: &[u8],
        ciphertexts: &mut [u8],
        keys: &mut [u8],
    ) -> Result<()> {
        Ok(self.encapsulate_from(seeds, public_keys, ciphertexts, keys)?.into_result()?)
    }
}

/// The numbers of a parameter set.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Parameters {
    Ctru(ringforge_ctru::Parameters),
    Prime(ringforge_ctru_prime::Parameters),
    /// The name of a set of the example crate's, which tells no numbers.
    MlKem(&'static str),
}

/// Bytes that a mechanism hashes, or makes by hashing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hashed {
    pub(crate) message: usize,
    pub(crate) key_pair_coins: usize,
    pub(crate) encryption_coins: usize,
    pub(crate) ciphertext: usize,
}

impl Parameters {
    /// The set's name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Ctru(p) => p.name,
            Self::Prime(p) => p.name,
            Self::MlKem(name) => name,
        }
    }

    /// The ring, as it is printed.
    pub(crate) fn ring(&self) -> String {
        match self {
            Self::Ctru(p) => format!("Z_3457[x]/(x^{} - x^{} + 1)", p.n, p.n / 2),
            Self::Prime(p) => format!("Z_{}[x]/(x^{} - x - 1)", p.q, p.n),
            Self::MlKem(_) => "Z_3329[x]/(x^256 + 1)".into(),
        }
    }

    fn encryption(&self) -> Option<EncryptionSizes> {
        match self {
            Self::Ctru(p) => Some(p.sizes()),
            Self::Prime(p) => Some(p.sizes()),
            Self::MlKem(_) => None,
        }
    }

    /// The part of a secret key before the public one.
    pub(crate) fn pke_key_bytes(&self) -> usize {
        self.encryption().map_or(0, |sizes| sizes.pke_key)
    }

    /// What it hashes, where that is known.
    pub(crate) fn hashed(&self) -> Option<Hashed> {
        let EncryptionSizes { message, polynomial_coins, encryption_coins, ciphertext, .. } = self.encryption()?;
        Some(Hashed { message, key_pair_coins: 2 * polynomial_coins, encryption_coins, ciphertext })
    }

    /// The plans for one key that serves all items, with samples; none if that is not offered.
    pub(crate) fn one_key_plans(&self, limits: &Limits) -> ringforge::Result<Vec<NamedPlan>> {
        match self {
            Self::Ctru(_) | Self::MlKem(_) => Ok(Vec::new()),
            Self::Prime(p) => ringforge_ctru_prime::named_plans(p, limits),
        }
    }

    /// Whether a key can be prepared for many operations with it.
    pub(crate) fn prepares(&self) -> bool {
        matches!(self, Self::Prime(_))
    }
}

/// The plan of an operation of a mechanism.
type PlanOf = fn(Operation, &Limits) -> ringforge::Result<Plan>;

/// The plan of an operation of a mechanism from seeds, with a key for each item.
fn plan<M: KemScheme>(operation: Operation, limits: &Limits) -> ringforge::Result<Plan> {
    let each = match operation {
        Operation::KeyGen => Each::Generate(Randomness::Seeds),
        Operation::Encaps | Operation::EncapsOne => Each::Encapsulate(Randomness::Seeds),
        Operation::Decaps | Operation::DecapsOne => Each::Decapsulate,
    };
    let plan = each.plan(M::NAME, &M::steps(limits)?, false, &Planner::new(limits.clone()))?;
    plan.ok_or_else(|| Error::Unsupported { job: format!("{} {operation}", M::NAME), why: "it has no steps".into() })
}

/// A parameter set.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) parameters: Parameters,
    /// As [`plan`].
    pub(crate) plan: PlanOf,
    /// Makes it ready on a device.
    pub(crate) on: fn(&Device) -> ringforge::Result<Box<dyn Kem>>,
    /// Whether it is measured with `--quick` too.
    pub(crate) quick: bool,
}

const fn set<P: ringforge_ctru::ParameterSet>(quick: bool) -> Set {
    let parameters = Parameters::Ctru(P::PARAMETERS);
    Set { parameters, plan: plan::<P>, on: ready::<P>, quick }
}

const fn prime<P: ringforge_ctru_prime::ParameterSet>(quick: bool) -> Set {
    let parameters = Parameters::Prime(P::PARAMETERS);
    Set { parameters, plan: plan::<P>, on: ready::<P>, quick }
}

const fn ml_kem<M: KemScheme>() -> Set {
    Set { parameters: Parameters::MlKem(M::NAME), plan: plan::<M>, on: ready::<M>, quick: false }
}

fn ready<M: KemScheme>(device: &Device) -> ringforge::Result<Box<dyn Kem>> {
    Ok(Box::new(Batch::<M>::new(&Engine::on(device.clone()))?))
}

/// All sets.
pub(crate) const SETS: &[Set] = &[
    set::<Ctru768>(true),
    set::<Cntr768>(true),
    set::<Ctru512>(false),
    set::<Cntr512>(false),
    set::<Ctru1024>(false),
    set::<Cntr1024>(false),
    prime::<CtruPrime761>(true),
    prime::<CtruPrime653>(false),
    prime::<CtruPrime1277>(false),
];

/// The sets of the example crate: a stranger's.
pub(crate) const ML_KEM: &[Set] = &[ml_kem::<MlKem512>(), ml_kem::<MlKem768>(), ml_kem::<MlKem1024>()];

/// What is measured of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    KeyGen,
    Encaps,
    Decaps,
    /// Encapsulation with one public key for all items, which is prepared.
    EncapsOne,
    /// Decapsulation with one secret key for all items, which is prepared.
    DecapsOne,
}

impl Operation {
    /// With a key for each item.
    pub(crate) const EACH: [Self; 3] = [Self::KeyGen, Self::Encaps, Self::Decaps];
    /// With one key for all.
    pub(crate) const ONE: [Self; 2] = [Self::EncapsOne, Self::DecapsOne];
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
