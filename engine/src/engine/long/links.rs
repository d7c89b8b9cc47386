//! How the devices of a group are connected.

use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use ringforge_math::error::{Error, Result};
#[cfg(feature = "cuda")]
use ringforge_runtime::communicator::{self, Connection, Control, Others};
use ringforge_runtime::communicator::{Communicator, Loopback};
#[cfg(feature = "cuda")]
use ringforge_runtime::cuda::nccl::UniqueId;
use ringforge_runtime::device::Device;
use ringforge_runtime::launch::Rank;
#[cfg(feature = "cuda")]
use ringforge_runtime::threads;

use super::worker::Worker;
use crate::engine::Engine;

/// The devices of a group and the connections between them.
#[derive(Debug)]
pub(in crate::engine) struct Links {
    /// The devices of this process, with consecutive ranks.
    pub(super) members: Vec<Member>,
    /// The number of ranks in all processes together.
    pub(super) ranks: usize,
    /// Locked while the devices work together, because all ranks must run their exchanges in the same order.
    pub(super) turn: Mutex<()>,
}

/// A device of a group.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) engine: Engine,
    pub(super) rank: usize,
    /// The connection to the other devices; `None` in a group of one.
    pub(super) communicator: Option<Box<dyn Communicator>>,
}

impl Links {
    fn of(engine: &Engine) -> Result<Self> {
        // each row of the vector has its own ring, and the group's engine would compile the program of a row on every
        // device
        let engines = engine.members().into_iter();
        let (ranks, ends) = match &engine.0.launch {
            Some(launch) => (launch.size(), vec![join(engine.device(), launch)?]),
            None => connect(&engine.devices().collect::<Vec<_>>(), engine.0.timeout).map(|ends| (ends.len(), ends))?,
        };
        let rank = engine.0.launch.as_ref().map_or(0, Rank::rank);
        let member = |(rank, (engine, communicator))| Member { engine, rank, communicator };
        Ok(Self { members: (rank..).zip(engines.zip(ends)).map(member).collect(), ranks, turn: Mutex::default() })
    }
}

/// One device's end of the connections; `None` in a group of one device.
type End = Option<Box<dyn Communicator>>;

/// Connects the devices of this process, and returns the end of each. `timeout` limits the time that devices wait for
/// one another.
fn connect(devices: &[&Device], timeout: Duration) -> Result<Vec<End>> {
    if devices.len() == 1 {
        return Ok(vec![None]);
    }
    if devices.iter().all(|device| device.backend().is_host()) {
        let ends = Loopback::ends(devices.len(), timeout);
        return Ok(ends.into_iter().map(|end| Some(Box::new(end) as Box<dyn Communicator>)).collect());
    }
    connect_gpus(devices, timeout)
}

#[cfg(feature = "cuda")]
fn connect_gpus(devices: &[&Device], timeout: Duration) -> Result<Vec<End>> {
    let (id, others, size) = (UniqueId::new()?, Arc::<Others>::default(), devices.len());
    let connection = |rank| Connection { id, rank, size, timeout, others: Arc::clone(&others) };
    let ends = devices.iter().enumerate().map(|(rank, device)| (device, connection(rank)));
    let tasks =
        ends.map(|(device, connection)| move || communicator::connect(&**device.backend(), &connection).map(Some));
    threads::each_on_its_own(tasks.collect())?.into_iter().collect()
}

/// Connects a device with the devices of the other processes. Returns `None` for a launch with a single process.
#[cfg(feature = "cuda")]
fn join(device: &Device, launch: &Rank) -> Result<End> {
    let (rank, size, timeout) = (launch.rank(), launch.size(), launch.timeout());
    if size == 1 {
        return Ok(None);
    }
    if device.backend().is_host() {
        let why = "their devices must be GPUs".into();
        return Err(Error::Unsupported { job: "a transform over several processes".into(), why });
    }
    let control = Control::join(launch)?;
    let mut id = if rank == 0 { UniqueId::new()? } else { UniqueId([0; 128]) };
    control.share(&mut id.0)?;
    let to = Connection { id, rank, size, timeout, others: Arc::new(Others::of(control)) };
    communicator::connect(&**device.backend(), &to).map(Some)
}

#[cfg(not(feature = "cuda"))]
fn connect_gpus(_: &[&Device], _: Duration) -> Result<Vec<End>> {
    Err(Error::Unsupported {
        job: "a transform over a group".into(),
        why: "its devices have separate memory: build with the feature `cuda`".into(),
    })
}

#[cfg(not(feature = "cuda"))]
fn join(_: &Device, launch: &Rank) -> Result<End> {
    match launch.size() {
        1 => Ok(None),
        _ => Err(Error::Unsupported {
            job: "a transform over several processes".into(),
            why: "their devices must be GPUs".into(),
        }),
    }
}

impl Engine {
    /// The connections between the group's devices, made at the first call and again after a failure.
    pub(super) fn links(&self) -> Result<Arc<Links>> {
        let mut links = self.0.links.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(links) = &*links {
            return Ok(links.clone());
        }
        Ok(links.insert(Arc::new(Links::of(self)?)).clone())
    }

    /// Discards the connections `failed`, unless new ones have already replaced them. The next use of connections makes
    /// new ones.
    pub(super) fn disconnect(&self, failed: &Arc<Links>) {
        let mut links = self.0.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.take_if(|links| Arc::ptr_eq(links, failed));
    }
}

impl Member {
    pub(super) fn abandon(&self) {
        self.communicator.iter().for_each(|communicator| communicator.abandon());
    }

    /// Waits until the device's exchanges and other work have finished, or have ended because another rank failed.
    /// Returns the error of an exchange, else that of the other work.
    pub(super) fn finish(&self, worker: &Worker) -> Result<()> {
        let exchanged = match &self.communicator {
            Some(communicator) => communicator.finish(worker.exchange.queue()),
            None => worker.exchange.synchronize(),
        };
        exchanged.and(worker.work.synchronize())
    }
}
