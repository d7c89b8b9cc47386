//! Groups: several devices used as one.

use std::sync::Arc;

use crate::planner::Planner;
use ringforge_math::error::{Error, Result};
use ringforge_runtime::device::{Device, Stream};
use ringforge_runtime::launch::Rank;
use ringforge_runtime::transfer::cut_by_rate;

use super::programs::Programs;
use super::{Engine, Other, Parts};

impl Engine {
    /// An engine on all CUDA GPUs of this machine as a [group](Engine::group), or on the CPU if there is none.
    /// [`Engine::no_gpu`] returns the reason for falling back to the CPU.
    #[must_use]
    pub fn all() -> Self {
        let gpus = (0..).map_while(|ordinal| Device::cuda(ordinal).ok()).collect::<Vec<_>>();
        Self::group(&gpus).unwrap_or_else(|_| Self::best())
    }

    /// An engine on several devices used as one. Work on host memory is divided evenly by items, and the devices work
    /// in parallel. This covers [`Engine::mul`], [`Engine::ntt`], batches of schemes, and
    /// [`Program::on_host`](crate::Program::on_host). The results are the same as on one device.
    ///
    /// [`Elements`](crate::Elements) are divided in the same way, and each part stays on its device. For other work in
    /// device memory, the engine's programs run on [streams](Device::stream) of any of the devices.
    ///
    /// ```
    /// # use ringforge::{Device, Engine, Ring};
    /// let engine = Engine::group(&[Device::cpu(), Device::cpu()])?;
    /// let ring: Ring = "17:x^4+1".parse()?;
    /// let squares = engine.mul(&ring, &[[1u16, 2, 3, 4]; 5].concat(), &[[1u16, 2, 3, 4]; 5].concat())?;
    /// assert_eq!(squares, [[10, 14, 11, 3]; 5].concat()); // three items on the first device, two on the second
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] for an empty group; [`Error::Mismatch`] if a device occurs twice.
    pub fn group(devices: &[Device]) -> Result<Self> {
        let rated: Vec<_> = devices.iter().map(|device| (device.clone(), 1.0)).collect();
        Self::group_by_rate(&rated)
    }

    /// Like [`Engine::group`], with a throughput for each device, in any unit. Items are divided in proportion to the
    /// throughputs.
    ///
    /// # Errors
    /// The errors of [`Engine::group`]; [`Error::Mismatch`] for a throughput that is not finite and positive.
    pub fn group_by_rate(devices: &[(Device, f64)]) -> Result<Self> {
        let Some(((first, own), others)) = devices.split_first() else {
            return Err(Error::Length { what: "devices of a group (at least one)", expected: 1, got: 0 });
        };
        for (i, (device, rate)) in devices.iter().enumerate() {
            if devices[..i].iter().any(|(other, _)| other.is(device)) {
                let (expected, got) = ("each device once".into(), format!("{device} twice"));
                return Err(Error::Mismatch { what: "the devices of a group".into(), expected, got });
            }
            if !(rate.is_finite() && *rate > 0.0) {
                let (expected, got) = ("a finite positive number".into(), rate.to_string());
                return Err(Error::Mismatch { what: format!("the rate of {device}"), expected, got });
            }
        }
        let other = |(device, rate): &(Device, f64)| Other { engine: Self::on(device.clone()), rate: rate / own };
        let engine = Self::on(first.clone());
        Ok(engine.with(engine.planner().clone(), Self::MOST_PROGRAMS, others.iter().map(other).collect()))
    }

    /// An engine on a device that takes part in [transforms of one vector](Engine::long_ntt) across processes, on this
    /// host or on others. Each process is one rank of the launch. All processes must make the same calls of these
    /// transforms in the same order; the first call connects the processes. All other work runs on this device alone,
    /// and each process has its own batches.
    ///
    /// ```no_run
    /// use ringforge::run::Rank;
    /// use ringforge::{Device, Engine};
    ///
    /// let launch = Rank::from_env()?; // under torchrun, srun or mpirun
    /// let engine = Engine::join(&Device::cuda(launch.local_rank())?, launch);
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    pub fn join(device: &Device, launch: Rank) -> Self {
        let planner = Planner::new(device.limits().clone());
        let parts = Parts::new(device.clone(), None, planner, Programs::new(Self::MOST_PROGRAMS));
        Self(Arc::new(Parts { launch: Some(launch), ..parts }))
    }

    /// The devices of the engine, the first device of a group first.
    pub fn devices(&self) -> impl Iterator<Item = &Device> {
        core::iter::once(&self.0.first).chain(self.0.others.iter().map(|other| other.engine.device()))
    }

    /// An engine of its own for each device, with the same tuning, the first device first.
    #[doc(hidden)]
    #[must_use]
    pub fn members(&self) -> Vec<Self> {
        let first = Self::on(self.device().clone()).tuned(self.planner().tuning().clone());
        core::iter::once(first).chain(self.0.others.iter().map(|other| other.engine.clone())).collect()
    }

    /// The engine's stream on each device.
    pub(super) fn streams(&self) -> Result<Vec<&Stream>> {
        core::iter::once(self.stream()).chain(self.0.others.iter().map(|other| other.engine.stream())).collect()
    }

    /// The number of items of a batch that each device gets.
    pub(super) fn cut(&self, batch: usize) -> Vec<usize> {
        let rates = core::iter::once(1.0).chain(self.0.others.iter().map(|other| other.rate));
        cut_by_rate(batch, &rates.collect::<Vec<_>>())
    }

    /// The devices of the group after the first, with `change` applied to the engine of each.
    pub(super) fn map_others(&self, change: impl Fn(&Self) -> Self) -> Vec<Other> {
        self.0.others.iter().map(|other| Other { engine: change(&other.engine), rate: other.rate }).collect()
    }
}
