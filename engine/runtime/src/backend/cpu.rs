//! The CPU backend: runs the CPU reference implementation of each kernel and divides the items among rayon's threads.

mod views;

use core::ops::Range;
use std::sync::Arc;

use crate::backend::{Backend, BackendStream, Binding, Loaded, To};
use crate::kernel::{Args, Copies, Kernel, Port, Sharing, Slice};
use crate::limits::Limits;
use crate::memory::{HostPool, Memory, Read, Write};
use crate::tiles::{Shape, Tiles};
use ringforge_math::error::{Error, Result};

/// A range of items with at most this many bytes runs on one thread.
const GRAIN_BYTES: usize = 32 << 10;

/// The CPU backend.
#[derive(Debug, Default)]
pub struct Cpu {
    limits: Limits,
    pool: Arc<HostPool>,
}

impl Backend for Cpu {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        self.pool.take(bytes).map(Memory::Host).ok_or(Error::OutOfMemory { bytes })
    }

    fn queue(&self) -> Result<BackendStream> {
        Ok(BackendStream::Immediate)
    }

    fn upload_shape(&self, _: &BackendStream, from: &[u8], shape: &Shape, to: Write<'_>) -> Result<()> {
        upload(from, shape, to)
    }

    fn download(&self, _: &BackendStream, from: Read<'_>, to: &mut [u8]) -> Result<()> {
        copy(from, Write::Host(to))
    }

    fn copy(&self, _: &BackendStream, from: Read<'_>, to: Write<'_>) -> Result<()> {
        copy(from, to)
    }

    fn wipe(&self, _: &BackendStream, memory: Write<'_>) -> Result<()> {
        zero(memory)
    }

    fn load(&self, kernels: &[Arc<dyn Kernel>]) -> Result<Vec<Loaded>> {
        let load = |kernel: &Arc<dyn Kernel>| Loaded {
            kernel: kernel.clone(),
            ports: kernel.ports().to_vec(),
            shares: Tiles::default(),
            code: Arc::new(()),
        };
        Ok(kernels.iter().map(load).collect())
    }

    fn launch(&self, _: &BackendStream, loaded: &Loaded, items: Range<usize>, bound: Vec<Binding<'_>>) -> Result<()> {
        ringforge_cpu::threads::start();
        let Loaded { kernel, ports, .. } = loaded;
        if views::needed(ports, &bound) {
            return views::run(loaded, items, bound);
        }
        let slices = bound
            .into_iter()
            .zip(ports)
            .map(|(bound, port)| host_slice(&**kernel, bound, port, &items))
            .collect::<Result<Vec<_>>>()?;
        let item_bytes = ports.iter().filter(|port| port.sharing == Sharing::PerItem).map(|port| port.bytes).sum();
        run_items(loaded, items, slices, item_bytes)
    }

    fn synchronize(&self, _: &BackendStream) -> Result<()> {
        Ok(())
    }

    fn is_host(&self) -> bool {
        true
    }

    #[cfg(feature = "testkit")]
    fn peak_bytes(&self) -> usize {
        self.pool.peak()
    }

    fn trim(&self) {
        self.pool.clear();
    }
}

/// Packs the bytes that `shape` selects from `from` into `to`.
pub fn upload(from: &[u8], shape: &Shape, to: Write<'_>) -> Result<()> {
    let Shape { offset, rows, width, pitch } = *shape;
    if rows == 1 {
        return copy(Read::Host(&from[offset..offset + width]), to);
    }
    let rows = from[offset..].chunks(pitch.max(1)).zip(host_write(to)?.chunks_exact_mut(width.max(1)));
    rows.for_each(|(from, to)| to.copy_from_slice(&from[..width]));
    Ok(())
}

/// Copies between two host memories of the same size.
pub fn copy(from: Read<'_>, to: Write<'_>) -> Result<()> {
    host_write(to)?.copy_from_slice(host_read(from)?);
    Ok(())
}

pub fn zero(memory: Write<'_>) -> Result<()> {
    ringforge_cpu::wipe::bytes(host_write(memory)?);
    Ok(())
}

/// Returns the bytes of host memory, or [`Error::ForeignDevice`] for memory of a GPU.
pub fn host_read(memory: Read<'_>) -> Result<&[u8]> {
    match memory {
        Read::Host(bytes) => Ok(bytes),
        #[cfg(feature = "cuda")]
        Read::Cuda(_) => Err(foreign()),
    }
}

/// Returns the bytes of host memory for writing, or [`Error::ForeignDevice`] for memory of a GPU.
pub fn host_write(memory: Write<'_>) -> Result<&mut [u8]> {
    match memory {
        Write::Host(bytes) => Ok(bytes),
        #[cfg(feature = "cuda")]
        Write::Cuda(_) => Err(foreign()),
    }
}

#[cfg(feature = "cuda")]
fn foreign() -> Error {
    Error::ForeignDevice { what: "memory".into(), expected: "CPU".into(), got: "a GPU".into() }
}

fn host_slice<'a>(kernel: &dyn Kernel, bound: Binding<'a>, port: &Port, items: &Range<usize>) -> Result<Slice<'a>> {
    let Binding { to, skipped, .. } = bound;
    let range = match port.sharing {
        Sharing::PerItem => (items.start - skipped) * port.bytes..(items.end - skipped) * port.bytes,
        Sharing::Shared => 0..port.bytes,
    };
    let short = || Error::Kernel {
        kernel: kernel.name().into(),
        why: "the memory of a port is too short for its items".into(),
    };
    Ok(match to {
        To::Read(memory) => Slice::In(host_read(memory)?.get(range).ok_or_else(short)?),
        To::Write(memory) => Slice::Out(host_write(memory)?.get_mut(range).ok_or_else(short)?),
        To::SameAs(port) => Slice::SameAs(port),
        To::List(_, tables) => Slice::List(tables.into_iter().map(host_read).collect::<Result<_>>()?),
    })
}

/// Runs a kernel on a range of contiguous items. Halves the range recursively, and runs the halves as parallel rayon
/// tasks, until a half has a single item or at most [`GRAIN_BYTES`] bytes.
fn run_items(loaded: &Loaded, items: Range<usize>, slices: Vec<Slice<'_>>, item_bytes: usize) -> Result<()> {
    let Loaded { kernel, ports, .. } = loaded;
    let count = items.len();
    if count < 2 || count.saturating_mul(item_bytes) <= GRAIN_BYTES {
        let copies = Copies::new(slices.len());
        return kernel.on_cpu(items, &mut Args::new(kernel.name(), ports, slices, &copies));
    }
    let middle = items.start + count / 2;
    let (left, right) = split(ports, slices, count / 2);
    let (left, right) = ringforge_cpu::threads::join(
        || run_items(loaded, items.start..middle, left, item_bytes),
        || run_items(loaded, middle..items.end, right, item_bytes),
    );
    left.and(right)
}

fn split<'a>(ports: &[Port], slices: Vec<Slice<'a>>, items: usize) -> (Vec<Slice<'a>>, Vec<Slice<'a>>) {
    slices
        .into_iter()
        .zip(ports)
        .map(|(slice, port)| match slice {
            Slice::In(bytes) if port.sharing == Sharing::PerItem => {
                let (left, right) = bytes.split_at(items * port.bytes);
                (Slice::In(left), Slice::In(right))
            }
            Slice::In(bytes) => (Slice::In(bytes), Slice::In(bytes)),
            Slice::Out(bytes) => {
                let (left, right) = bytes.split_at_mut(items * port.bytes);
                (Slice::Out(left), Slice::Out(right))
            }
            Slice::SameAs(port) => (Slice::SameAs(port), Slice::SameAs(port)),
            Slice::List(tables) => (Slice::List(tables.clone()), Slice::List(tables)),
            Slice::Taken => (Slice::Taken, Slice::Taken),
        })
        .unzip()
}
