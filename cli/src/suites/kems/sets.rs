//! The KEM parameter sets that are checked and measured.

use core::fmt;

use anyhow::{Context, Result};
use ringforge::{Limits, Plan, Planner};
use ringforge_batch::{ENCAPSULATION_SEED, KEY_SEED, KemScheme, Operation as Each, Randomness};
use ringforge_ctru::{Cntr512, Cntr768, Cntr1024, Ctru512, Ctru768, Ctru1024, EncryptionSizes};
use ringforge_ctru_prime::{CtruPrime653, CtruPrime761, CtruPrime1277};
use ringforge_ml_kem::{MlKem512, MlKem768, MlKem1024};
use ringforge_testkit::NamedPlan;

use super::host::{self, Lines};

/// The scheme of a parameter set, with its parameters.
#[derive(Debug, Clone, Copy)]
pub enum Parameters {
    /// CTRU or CNTR.
    Ctru(ringforge_ctru::Parameters),
    /// CTRU-Prime.
    Prime(ringforge_ctru_prime::Parameters),
    /// A set of the ML-KEM example crate. Only its name is known, because the crate does not expose its parameters.
    MlKem(&'static str),
}

impl Parameters {
    /// Name of the set.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ctru(p) => p.name,
            Self::Prime(p) => p.name,
            Self::MlKem(name) => name,
        }
    }

    /// The ring of the set, as text.
    pub fn ring(&self) -> String {
        match self {
            Self::Ctru(p) => format!("Z_3457[x]/(x^{} - x^{} + 1)", p.n, p.n / 2),
            Self::Prime(p) => format!("Z_{}[x]/(x^{} - x - 1)", p.q, p.n),
            Self::MlKem(_) => "Z_3329[x]/(x^256 + 1)".into(),
        }
    }

    /// Sizes in bytes of the underlying public-key encryption, if known.
    pub fn encryption(&self) -> Option<EncryptionSizes> {
        match self {
            Self::Ctru(p) => Some(p.sizes()),
            Self::Prime(p) => Some(p.sizes()),
            Self::MlKem(_) => None,
        }
    }
}

/// A parameter set with functions that make its plans.
#[derive(Debug)]
pub struct Set {
    /// The scheme and the parameters.
    pub parameters: Parameters,
    /// Makes the plan of an operation with one key per item, with all randomness from seeds.
    each: fn(Operation, &Limits) -> Result<Plan>,
    /// Makes all plans with one key per item.
    all: fn(&Limits) -> Result<Vec<Plan>>,
    /// Measures the set's operations from host memory.
    pub(super) host: Lines,
    /// True if `--quick` measures the set too.
    pub(super) quick: bool,
}

const fn set<M: KemScheme>(parameters: Parameters, quick: bool) -> Set {
    Set { parameters, each: each::<M>, all: all::<M>, host: host::lines::<M>, quick }
}

const fn ctru<P: ringforge_ctru::ParameterSet>(quick: bool) -> Set {
    set::<P>(Parameters::Ctru(P::PARAMETERS), quick)
}

const fn prime<P: ringforge_ctru_prime::ParameterSet>(quick: bool) -> Set {
    set::<P>(Parameters::Prime(P::PARAMETERS), quick)
}

const fn ml_kem<M: KemScheme>() -> Set {
    set::<M>(Parameters::MlKem(M::NAME), false)
}

/// All sets. The sets of the third-party example crate come last.
pub static SETS: &[Set] = &[
    ctru::<Ctru768>(true),
    ctru::<Cntr768>(true),
    ctru::<Ctru512>(false),
    ctru::<Cntr512>(false),
    ctru::<Ctru1024>(false),
    ctru::<Cntr1024>(false),
    prime::<CtruPrime761>(true),
    prime::<CtruPrime653>(false),
    prime::<CtruPrime1277>(false),
    ml_kem::<MlKem512>(),
    ml_kem::<MlKem768>(),
    ml_kem::<MlKem1024>(),
];

fn each<M: KemScheme>(operation: Operation, limits: &Limits) -> Result<Plan> {
    let each = match operation {
        Operation::KeyGen => Each::Generate(Randomness::Seeds),
        Operation::Encaps | Operation::EncapsOne => Each::Encapsulate(Randomness::Seeds),
        Operation::Decaps | Operation::DecapsOne => Each::Decapsulate,
    };
    let plan = each.plan(M::NAME, &M::steps(limits)?, false, &Planner::new(limits.clone()))?;
    plan.with_context(|| format!("{} has no steps for {operation}", M::NAME))
}

fn all<M: KemScheme>(limits: &Limits) -> Result<Vec<Plan>> {
    let (planner, steps) = (Planner::new(limits.clone()), M::steps(limits)?);
    let mut plans = Vec::new();
    for randomness in [Randomness::Seeds, Randomness::RandomKey] {
        let from = [Each::Generate(randomness), Each::Encapsulate(randomness)];
        let checks = [Each::Decapsulate, Each::CheckPublicKeys, Each::CheckSecretKeys];
        for (each, checked) in from.into_iter().chain(checks).flat_map(|each| [(each, false), (each, true)]) {
            plans.extend(each.plan(M::NAME, &steps, checked, &planner)?);
        }
    }
    Ok(plans)
}

impl Set {
    /// All plans: those with one key per item and those with one key for all items.
    pub fn all_plans(&self, limits: &Limits) -> Result<Vec<Plan>> {
        let mut plans = (self.all)(limits)?;
        if let Parameters::Prime(p) = &self.parameters {
            plans.extend(ringforge_ctru_prime::named_plans(p, limits)?.into_iter().map(|named| named.plan));
        }
        Ok(plans)
    }

    /// Returns the set of this name, or an error if there is none.
    pub fn named(name: &str) -> Result<&'static Self> {
        let set = SETS.iter().find(|set| set.parameters.name() == name);
        set.with_context(|| format!("no parameter set is called {name}"))
    }

    /// The operations of the set. CTRU-Prime also has operations with one key for all items.
    pub(super) fn operations(&self) -> &'static [Operation] {
        let all =
            &[Operation::KeyGen, Operation::Encaps, Operation::Decaps, Operation::EncapsOne, Operation::DecapsOne];
        if matches!(self.parameters, Parameters::Prime(_)) { all } else { &all[..3] }
    }

    /// The plan of an operation.
    pub fn plan(&self, operation: Operation, limits: &Limits) -> Result<Plan> {
        match operation {
            Operation::EncapsOne => Ok(self.with_sample("encapsulate to one key from seeds", limits)?.plan),
            Operation::DecapsOne => Ok(self.with_sample("decapsulate with one key", limits)?.plan),
            _ => (self.each)(operation, limits),
        }
    }

    /// Returns a plan of a CTRU-Prime set, with sample inputs. The plan's name begins with the set's name and `what`.
    /// If there are several variants, returns the last one, which is the fastest on a GPU. Returns an error for sets of
    /// other schemes.
    pub fn with_sample(&self, what: &str, limits: &Limits) -> Result<NamedPlan> {
        let plans = match &self.parameters {
            Parameters::Prime(p) => ringforge_ctru_prime::named_plans(p, limits)?,
            _ => Vec::new(),
        };
        let name = format!("{} {what}", self.parameters.name());
        plans
            .into_iter()
            .rfind(|plan| plan.name.starts_with(&name))
            .with_context(|| format!("no plan is called {name}"))
    }
}

/// An operation of a KEM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Generation of key pairs.
    KeyGen,
    /// Encapsulation, with one key per item.
    Encaps,
    /// Decapsulation, with one key per item.
    Decaps,
    /// Encapsulation to one public key for all items, which is converted to an operand of products in advance.
    EncapsOne,
    /// Decapsulation with one secret key for all items, which is converted to an operand of products in advance.
    DecapsOne,
}

impl Operation {
    /// Returns true if all items share one key.
    pub(super) fn has_one_key(self) -> bool {
        matches!(self, Self::EncapsOne | Self::DecapsOne)
    }

    /// Bytes of the seed of an item; `None` if the operation needs none.
    pub fn seed(self) -> Option<usize> {
        match self {
            Self::KeyGen => Some(KEY_SEED),
            Self::Encaps | Self::EncapsOne => Some(ENCAPSULATION_SEED),
            _ => None,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
