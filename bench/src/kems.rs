//! The key encapsulation mechanisms that are checked and measured.

use core::fmt;

use ringforge::{Device, Limits, Plan};
use ringforge_batch::{Batch, Ciphertexts, DeterministicKem, PublicKeys, SecretKeys, SharedKeys};
use ringforge_ctru::{Cntr512, Cntr768, Cntr1024, Ctru512, Ctru768, Ctru1024, ParameterSet, Parameters};

/// Any of the mechanisms, ready on a device.
pub(crate) type Kem = dyn DeterministicKem<
        PublicKeys = PublicKeys,
        SecretKeys = SecretKeys,
        Ciphertexts = Ciphertexts,
        SharedKeys = SharedKeys,
    >;

/// A parameter set.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) parameters: Parameters,
    /// The plan of an operation.
    pub(crate) plan: fn(ringforge_batch::Operation, &Limits) -> ringforge::Result<Plan>,
    /// Makes it ready on a device.
    pub(crate) on: fn(&Device) -> ringforge::Result<Box<Kem>>,
    /// Whether it is measured with `--quick` too.
    pub(crate) quick: bool,
}

const fn set<P: ParameterSet>(quick: bool) -> Set {
    Set { parameters: P::PARAMETERS, plan: P::plan, on: |device| Ok(Box::new(Batch::<P>::new(device)?)), quick }
}

/// All sets.
pub(crate) const SETS: &[Set] = &[
    set::<Ctru768>(true),
    set::<Cntr768>(true),
    set::<Ctru512>(false),
    set::<Cntr512>(false),
    set::<Ctru1024>(false),
    set::<Cntr1024>(false),
];

/// What is measured of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    KeyGen,
    Encaps,
    Decaps,
}

impl Operation {
    pub(crate) const ALL: [Self; 3] = [Self::KeyGen, Self::Encaps, Self::Decaps];
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
