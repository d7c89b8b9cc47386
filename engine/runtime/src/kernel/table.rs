//! Tables that kernels read.

use std::sync::Arc;

use crate::kernel::{Kernel, Port, Role, Sharing};

/// A table that a kernel reads: made once for each device, cached under its content, shared by all programs.
#[derive(Debug, Clone)]
pub enum Table {
    /// Written by a kernel whose last port is its only output, the others being these tables.
    Made {
        /// The kernel.
        kernel: Arc<dyn Kernel>,
        /// The items that the kernel is launched for.
        items: usize,
        /// What its other ports read.
        inputs: Vec<Table>,
    },
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// Other tables: on a GPU, an array of pointers to them; on a CPU, [`Args::tables`](crate::kernel::Args::tables).
    List(Vec<Table>),
}

impl Table {
    /// Size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Made { kernel, items, .. } => {
                kernel.ports().last().map_or(0, |port| port.bytes.saturating_mul(*items))
            }
            Self::Bytes(bytes) => bytes.len(),
            Self::List(tables) => size_of::<u64>() * tables.len(),
        }
    }

    /// The kernels that make it and its inputs.
    pub(crate) fn kernels(&self) -> Vec<Arc<dyn Kernel>> {
        match self {
            Self::Made { kernel, inputs, .. } => {
                inputs.iter().flat_map(Self::kernels).chain([kernel.clone()]).collect()
            }
            Self::List(tables) => tables.iter().flat_map(Self::kernels).collect(),
            Self::Bytes(_) => Vec::new(),
        }
    }

    /// Whether the kernel that makes it takes just its inputs, and writes just the table.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), String> {
        let (kernel, items, inputs) = match self {
            Self::Made { kernel, items, inputs } => (kernel, items, inputs),
            Self::List(tables) => return tables.iter().try_for_each(Self::check),
            Self::Bytes(_) => return Ok(()),
        };
        let refuse = |why: &str| Err(format!("a table's kernel {} {why}", kernel.name()));
        let Some((out, shared)) = kernel.ports().split_last() else { return refuse("has no ports") };
        if out.role != Role::Out || out.sharing != Sharing::PerItem || out.bytes.checked_mul(*items).is_none() {
            return refuse("has no output of that size as its last port");
        }
        if shared.len() != inputs.len() || !shared.iter().zip(inputs).all(|(port, input)| input.fits(port)) {
            return refuse("does not take the table's inputs");
        }
        inputs.iter().try_for_each(Self::check)
    }

    /// Whether a port can read it: one of its size that all items share, and pointers where it is a list.
    #[doc(hidden)]
    pub fn fits(&self, port: &Port) -> bool {
        let pointers = match self {
            Self::List(tables) => port.tables > 0 && tables.iter().all(|table| table.bytes() == port.tables),
            _ => port.tables == 0,
        };
        pointers && port.role == Role::In && port.sharing == Sharing::Shared && port.bytes == self.bytes()
    }
}
