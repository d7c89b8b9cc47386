//! Tables of constants that kernels read, such as twiddle factors.

use core::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::kernel::{Kernel, Port, Role, Sharing};

/// A table that a kernel reads. It is made once per device, cached under its `Debug` output, and shared by all
/// programs.
#[derive(Clone)]
pub enum Table {
    /// A table that a kernel computes. The kernel's last port is its only output, and its other ports read the tables
    /// `inputs`.
    Made {
        /// The kernel that computes the table.
        kernel: Arc<dyn Kernel>,
        /// The number of items that the kernel is launched for.
        items: usize,
        /// The tables that the kernel's other ports read, in order.
        inputs: Vec<Table>,
    },
    /// A table with these bytes.
    Bytes(Arc<[u8]>),
    /// A list of tables: on a GPU, an array of pointers to the tables; on a CPU, slices that
    /// [`Args::tables`](crate::kernel::Args::tables) returns.
    List(Vec<Table>),
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made { kernel, items, inputs } => {
                f.debug_struct("Made").field("kernel", kernel).field("items", items).field("inputs", inputs).finish()
            }
            // a digest, because the contents of a large table would make a key of megabytes
            Self::Bytes(bytes) => f.debug_tuple("Bytes").field(&bytes.len()).field(&Sha256::digest(bytes)).finish(),
            Self::List(tables) => f.debug_tuple("List").field(tables).finish(),
        }
    }
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

    /// The kernels that make the table and its inputs.
    pub(crate) fn kernels(&self) -> Vec<Arc<dyn Kernel>> {
        match self {
            Self::Made { kernel, inputs, .. } => {
                inputs.iter().flat_map(Self::kernels).chain([kernel.clone()]).collect()
            }
            Self::List(tables) => tables.iter().flat_map(Self::kernels).collect(),
            Self::Bytes(_) => Vec::new(),
        }
    }

    /// Checks that the table's kernel reads exactly the table's inputs and writes exactly the table. Otherwise the
    /// error says what is wrong. [`Table::Bytes`] always passes, and a list passes if all its tables do.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), String> {
        let (kernel, items, inputs) = match self {
            Self::Made { kernel, items, inputs } => (kernel, items, inputs),
            Self::List(tables) => return tables.iter().try_for_each(Self::check),
            Self::Bytes(_) => return Ok(()),
        };
        let refuse = |why: &str| Err(format!("the table kernel {} {why}", kernel.name()));
        let Some((out, shared)) = kernel.ports().split_last() else { return refuse("has no ports") };
        if out.role != Role::Out || out.sharing != Sharing::PerItem || out.bytes.checked_mul(*items).is_none() {
            return refuse("must have an output of the table's size as its last port");
        }
        if shared.len() != inputs.len() || !shared.iter().zip(inputs).all(|(port, input)| input.fits(port)) {
            return refuse("must read exactly the table's inputs");
        }
        inputs.iter().try_for_each(Self::check)
    }

    /// Whether a port can read the table. The port must be a shared input of the table's size, and hold pointers if and
    /// only if the table is a list.
    #[doc(hidden)]
    pub fn fits(&self, port: &Port) -> bool {
        let pointers = match self {
            Self::List(tables) => port.tables > 0 && tables.iter().all(|table| table.bytes() == port.tables),
            _ => port.tables == 0,
        };
        pointers && port.role == Role::In && port.sharing == Sharing::Shared && port.bytes == self.bytes()
    }
}
