//! [`Backends`]: an operation on a device, and on the CPU for small batches and for when the device fails.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use ringforge::Result;
use ringforge_batch::BatchStatus;

use crate::lock::lock;
use crate::operation::{Inputs, Operation, Part, Shape};

/// How long a device that failed is left alone at first. The time doubles with each failure in a row.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest such time.
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

pub(crate) struct Backends<O> {
    device: O,
    cpu: Option<O>,
    /// Batches of up to this many items run on the CPU.
    pub(crate) crossover: usize,
    /// Seconds of a batch of one item.
    pub(crate) of_one: Duration,
    health: Mutex<Health>,
}

#[derive(Default)]
struct Health {
    failures: u32,
    /// The device is not used before this.
    until: Option<Instant>,
}

/// The place where a batch ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ran {
    Device,
    /// On the CPU, because that is faster or because the device has failed before.
    Cpu,
    /// On the CPU, after the device had failed at this batch.
    CpuAfterFailure,
}

impl<O: Operation> Backends<O> {
    /// Runs the operation once for each size of a batch, which also compiles what it needs, and finds the sizes for
    /// which the CPU is faster, unless `crossover` is given.
    pub(crate) fn measured(device: O, cpu: Option<O>, crossover: Option<usize>, batch: usize) -> Result<Self> {
        let sample = Sample::new(&device, batch.next_power_of_two())?;
        // without another place to run, only the time of one item matters
        let most = if cpu.is_some() { batch } else { 1 };
        let sizes = || core::iter::successors(Some(1), |size| (*size < most).then(|| size * 2));
        let times = sizes().map(|size| sample.time(&device, size)).collect::<Result<Vec<_>>>()?;
        let mut faster = 0;
        if let (Some(cpu), None) = (&cpu, crossover) {
            for (size, of_device) in sizes().zip(&times) {
                if sample.time(cpu, size)? >= *of_device {
                    break;
                }
                faster = size;
            }
        }
        let of_one = times.first().copied().unwrap_or_default();
        Ok(Self { device, cpu, crossover: crossover.unwrap_or(faster), of_one, health: Mutex::default() })
    }

    pub(crate) fn device(&self) -> &O {
        &self.device
    }

    /// Runs a batch, and says where it ran.
    pub(crate) fn run(&self, batch: &Inputs<'_>, outputs: &mut [&mut [u8]]) -> Result<(BatchStatus<O::Error>, Ran)> {
        let Some(cpu) = &self.cpu else { return Ok((self.device.run(batch, outputs)?, Ran::Device)) };
        if batch.batch() <= self.crossover || !self.is_usable() {
            return Ok((cpu.run(batch, outputs)?, Ran::Cpu));
        }
        match self.device.run(batch, outputs) {
            Ok(status) => {
                *lock(&self.health) = Health::default();
                Ok((status, Ran::Device))
            }
            Err(error) => {
                let pause = self.failed();
                log::warn!("{}: {error}. The CPU takes over for {pause:?}.", self.device.shape().name);
                Ok((cpu.run(batch, outputs)?, Ran::CpuAfterFailure))
            }
        }
    }

    fn is_usable(&self) -> bool {
        lock(&self.health).until.is_none_or(|until| Instant::now() >= until)
    }

    fn failed(&self) -> Duration {
        let (mut health, now) = (lock(&self.health), Instant::now());
        // batches that were in flight when the first one failed are the same failure
        if let Some(left) = health.until.and_then(|until| until.checked_duration_since(now)) {
            return left;
        }
        let pause = LONGEST_PAUSE.min(FIRST_PAUSE * (1 << health.failures.min(10)));
        *health = Health { failures: health.failures + 1, until: Some(now + pause) };
        pause
    }
}

/// A batch of equal requests.
struct Sample {
    parts: Vec<Part>,
    slots: Vec<Vec<u8>>,
    outputs: Vec<Part>,
}

impl Sample {
    fn new(operation: &impl Operation, batch: usize) -> Result<Self> {
        let (Shape { inputs: parts, outputs, .. }, example) = (operation.shape(), operation.example()?);
        let slots = parts.iter().zip(&example).map(|(part, bytes)| {
            let mut slot = Vec::new();
            part.put(bytes, &mut slot);
            slot.repeat(batch)
        });
        Ok(Self { slots: slots.collect(), parts, outputs })
    }

    /// The time of the second of two runs: the first one may compile something.
    fn time(&self, operation: &impl Operation, size: usize) -> Result<Duration> {
        let slots = self.slots.iter().zip(&self.parts).map(|(slots, part)| &slots[..part.slot() * size]);
        let slots: Vec<&[u8]> = slots.collect();
        let mut time = Duration::ZERO;
        for _ in 0..2 {
            let mut outputs: Vec<_> = self.outputs.iter().map(|part| vec![0; part.bytes * size]).collect();
            let mut outputs: Vec<&mut [u8]> = outputs.iter_mut().map(|bytes| &mut bytes[..]).collect();
            let start = Instant::now();
            let _ = operation.run(&Inputs::new(&self.parts, &slots, size), &mut outputs)?;
            time = start.elapsed();
        }
        Ok(time)
    }
}
