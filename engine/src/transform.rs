//! The transform of one row on the CPU, for kernels that say what they mean there.

mod leaves;
mod stack;

use core::any::Any;
use core::fmt;
use std::sync::Arc;

use bytemuck::Zeroable;

use crate::arithmetic::dispatch;
use crate::error::{Error, Result};
use crate::field::{Field, Store, Visit};
use crate::kernels::base::{BLOCK, LANES, restored_products};
use crate::kernels::tree::{Origin, Tree};
use crate::ring::split::Split;
use crate::rows::Rows;
use crate::rows::twiddles::{Layout, factors_of, header_of};

use stack::Step;

/// A residue of a row on the CPU: `u32` below 2^31, `u64` below 2^64, `[u64; 4]` beyond.
pub trait Word: sealed::Word {}

impl Word for u32 {}
impl Word for u64 {}
impl Word for [u64; 4] {}

mod sealed {
    pub trait Word: bytemuck::Pod {}
    impl Word for u32 {}
    impl Word for u64 {}
    impl Word for [u64; 4] {}
}

/// Transforms and products of one row of n residues on the CPU, where they lie: what fused kernels mean there.
///
/// All residues are in the ring's [form](crate::Ring::form) and canonical, below the row's modulus: also where the ring accepts
/// any word, which kernels reduce when they load it. Values are in tree order, leaf by leaf and low degree first, as in
/// [`Order::Tree`](crate::Order::Tree). Neither time nor addresses depend on residues, and what they leave on the stack is
/// wiped; only a row of more than 64 KiB also takes other threads, whose stacks keep it. Cloning is cheap.
///
/// ```
/// # use ringforge::{Limits, Modulus, Ring};
/// # use ringforge::kernels::Rows;
/// # use ringforge::words::Transform;
/// let ring = Ring::negacyclic(4, Modulus::new(17u32)?)?;
/// let transform = Transform::<u32>::of(&Rows::of(&ring, &Limits::default())?, 0)?;
/// let (mut a, mut b) = ([0, 0, 0, 2], [0, 3, 0, 0]);
/// transform.forward(&mut a)?;
/// transform.forward(&mut b)?;
/// transform.multiply(&mut a, &b)?;
/// assert!(transform.invert(&mut b)?);
/// transform.inverse(&mut a)?;
/// assert_eq!(a, [11, 0, 0, 0]); // 2x^3 · 3x = 6x^4 = -6
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Clone)]
pub struct Transform<W>(Arc<dyn Row<W>>);

impl<W: Word> Transform<W> {
    /// The transform modulo this one of the ring's [moduli](crate::Ring::moduli), split as these rows are.
    ///
    /// # Errors
    /// [`Error::TooLarge`] where the ring has no such modulus, [`Error::Unsupported`] where the ring's words are not `W`:
    /// those of all its moduli are as wide as the widest modulus needs.
    pub fn of(rows: &Rows, modulus: usize) -> Result<Self> {
        let limit = rows.ring.moduli().len() - 1;
        if modulus > limit {
            return Err(Error::TooLarge { what: "the number of a modulus", limit, got: modulus });
        }
        make(rows, modulus).downcast::<Arc<dyn Row<W>>>().map(|row| Self(*row)).map_err(|_| Error::Unsupported {
            job: format!("a transform on words of {} bytes in {}", size_of::<W>(), rows.ring),
            why: "its residues have words of another size".into(),
        })
    }

    /// From coefficients to values.
    ///
    /// # Errors
    /// [`Error::Length`] unless there are n words.
    pub fn forward(&self, row: &mut [W]) -> Result<()> {
        self.check(row)?;
        self.0.forward(row);
        stack::wipe::<W>(Step::Transform);
        Ok(())
    }

    /// From values to coefficients.
    ///
    /// # Errors
    /// As [`Transform::forward`].
    pub fn inverse(&self, row: &mut [W]) -> Result<()> {
        self.check(row)?;
        self.0.inverse(row);
        stack::wipe::<W>(Step::Transform);
        Ok(())
    }

    /// Multiplies values by values.
    ///
    /// # Errors
    /// As [`Transform::forward`].
    pub fn multiply(&self, a: &mut [W], b: &[W]) -> Result<()> {
        self.check(a)?;
        self.check(b)?;
        self.0.multiply(a, b);
        stack::wipe::<W>(Step::Product);
        Ok(())
    }

    /// Replaces values by those of the inverse element, and says whether there is one: if not, they become useless.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for leaves of degree 5 or 7, else as [`Transform::forward`].
    pub fn invert(&self, row: &mut [W]) -> Result<bool> {
        self.check(row)?;
        let base = self.0.split().base;
        if !leaves::invertible(base) {
            let job = format!("an inverse modulo leaves of degree {base}");
            return Err(Error::Unsupported { job, why: "norms halve degrees down to 1 and 3".into() });
        }
        let exists = self.0.invert(row);
        stack::wipe::<W>(Step::Inversion);
        Ok(exists)
    }

    fn check(&self, row: &[W]) -> Result<()> {
        let (expected, got) = (self.0.split().n, row.len());
        if got == expected { Ok(()) } else { Err(Error::Length { what: "words of a row", expected, got }) }
    }
}

impl<W> fmt::Debug for Transform<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transform(n {}, split {})", self.0.split().n, self.0.split())
    }
}

/// A row whose arithmetic is hidden; words are n, canonical.
trait Row<W>: Send + Sync {
    fn split(&self) -> &Split;
    fn forward(&self, row: &mut [W]);
    fn inverse(&self, row: &mut [W]);
    fn multiply(&self, a: &mut [W], b: &[W]);
    fn invert(&self, row: &mut [W]) -> bool;
}

/// Makes a row, an `Arc<dyn Row<W>>` for the ring's own W. Not generic, so that the arithmetic of all fields is compiled here
/// and not once more in each crate that has transforms.
fn make(rows: &Rows, modulus: usize) -> Box<dyn Any> {
    dispatch(&rows.ring, rows.arithmetic, Make { rows, modulus })
}

struct Make<'a> {
    rows: &'a Rows,
    modulus: usize,
}

impl Visit for Make<'_> {
    type Out = Box<dyn Any>;

    fn visit<F: Field, S: Store<F::Word>>(self) -> Box<dyn Any> {
        let Rows { ring, split, .. } = self.rows;
        let roots = &split.roots[self.modulus];
        let one = ring.radix(&roots.q).to_le_bytes();
        let row: Arc<dyn Row<F::Word>> = Arc::new(Parts::<F> {
            field: F::new(&roots.q),
            one: bytemuck::pod_read_unaligned::<S>(&one.as_ref()[..size_of::<S>()]).load(),
            restore: self.rows.restores(),
            split: split.clone(),
            layout: Layout::of(split, split.layers.len()),
            table: factors_of::<F>(split, self.modulus),
            modulus: self.modulus,
        });
        Box::new(row)
    }
}

/// What a tree borrows.
struct Parts<F: Field> {
    field: F,
    /// 1 as the ring stores it.
    one: F::Word,
    /// Whether reduced products lack a factor.
    restore: bool,
    split: Split,
    layout: Layout,
    table: Vec<F::Twiddle>,
    modulus: usize,
}

impl<F: Field> Parts<F> {
    fn tree(&self) -> Tree<'_, F> {
        let Self { field, split, layout, table, .. } = self;
        Tree { field: *field, split, layout, header: header_of(table), table: table.as_slice().into() }
    }
}

impl<F: Field> Row<F::Word> for Parts<F> {
    fn split(&self) -> &Split {
        &self.split
    }

    fn forward(&self, row: &mut [F::Word]) {
        self.tree().forward(row);
    }

    fn inverse(&self, row: &mut [F::Word]) {
        self.tree().inverse(row, Origin::Values);
    }

    fn multiply(&self, a: &mut [F::Word], b: &[F::Word]) {
        let (tree, field) = (self.tree(), self.field);
        let leaves = BLOCK / self.split.base / LANES * LANES;
        let len = leaves * self.split.base;
        let constants = tree.leaf_constants();
        let mut left = [F::Word::zeroed(); BLOCK];
        for (i, (a, b)) in a.chunks_mut(len).zip(b.chunks(len)).enumerate() {
            let left = &mut left[..a.len()];
            left.copy_from_slice(a);
            let betas = &constants[constants.len().min(i * leaves)..];
            let betas = &betas[..betas.len().min(leaves)];
            restored_products(&tree, self.restore, betas, [left, b], a, &|out, product| {
                *out = field.canonical(product);
            });
        }
    }

    fn invert(&self, row: &mut [F::Word]) -> bool {
        leaves::invert(&self.tree(), &self.split.roots[self.modulus].q, self.one, row)
    }
}
