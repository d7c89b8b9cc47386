//! Transforms of limbs on the CPU, for the CPU references of kernels.

mod stack;

#[cfg(all(test, target_os = "linux"))]
pub(crate) use stack::depth;

use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use bytemuck::{cast_slice, cast_slice_mut};
use crypto_bigint::U256;

use crate::layout::KernelLayout;
use crate::layout::twiddles::Prime;
use ringforge_math::error::{Error, Result, same_length};
use ringforge_math::factorization::Factorization;
use ringforge_math::modulus::limbs;

use stack::Step;

/// A residue of a limb on the CPU: `u32` for moduli below 2^31, `u64` for moduli below 2^64, `[u64; 4]` for larger
/// ones.
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

/// Transforms and products of limbs of n residues on the CPU, for the CPU references of fused kernels.
///
/// All residues are in the ring's [form](crate::PolyType::form) and canonical (below the modulus). This also holds if
/// the ring accepts any word, because kernels reduce such words when they load them. Evaluations are in digit-reversed
/// order, leaf by leaf and low degree first, as in [`Order::DigitReversed`](crate::Order::DigitReversed).
///
/// Neither time nor memory addresses depend on residues, and copies left on the stack are wiped. A limb of more than 64
/// KiB also uses other threads, whose stacks are not wiped. Cloning is cheap.
///
/// ```
/// # use ringforge::{Limits, Modulus, Ring};
/// # use ringforge::kernels::KernelLayout;
/// # use ringforge::words::Transform;
/// let ring = Ring::negacyclic(4, Modulus::new(17u32)?)?;
/// let transform = Transform::<u32>::of(&KernelLayout::of(&ring, &Limits::default())?, 0)?;
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
pub struct Transform<W> {
    row: Arc<dyn ringforge_cpu::Transform>,
    factorization: Arc<Factorization>,
    words: PhantomData<fn(W)>,
}

impl<W: Word> Transform<W> {
    /// The transform modulo the modulus with index `modulus` among the ring's [moduli](crate::PolyType::moduli), with
    /// the factorisation of `rows`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the ring has no modulus with this index. [`Error::Unsupported`] if `W` is not the ring's
    /// word: all its moduli use the word that the widest modulus needs.
    pub fn of(rows: &KernelLayout, modulus: usize) -> Result<Self> {
        let limit = rows.poly.moduli().len() - 1;
        if modulus > limit {
            return Err(Error::TooLarge { what: "the index of a modulus", limit, got: modulus });
        }
        let row = row(rows, modulus);
        if row.word_bytes() != size_of::<W>() {
            let job = format!("a transform on words of {} bytes in {}", size_of::<W>(), rows.poly);
            return Err(Error::Unsupported {
                job,
                why: format!("its residues have words of {} bytes", row.word_bytes()),
            });
        }
        Ok(Self { row, factorization: Arc::new(rows.factorization.clone()), words: PhantomData })
    }

    /// Transforms coefficients into evaluations (forward NTT), for one limb or several that lie one after another.
    ///
    /// # Errors
    /// [`Error::Length`] unless the number of words is a multiple of n.
    pub fn forward(&self, rows: &mut [W]) -> Result<()> {
        self.count(rows)?;
        rows.chunks_exact_mut(self.factorization.n()).for_each(|row| self.row.forward(cast_slice_mut(row)));
        stack::wipe::<W>(Step::Transform);
        Ok(())
    }

    /// Transforms evaluations into coefficients (inverse NTT), for one limb or several that lie one after another.
    ///
    /// # Errors
    /// The errors of [`Transform::forward`].
    pub fn inverse(&self, rows: &mut [W]) -> Result<()> {
        self.count(rows)?;
        rows.chunks_exact_mut(self.factorization.n()).for_each(|row| self.row.inverse(cast_slice_mut(row)));
        stack::wipe::<W>(Step::Transform);
        Ok(())
    }

    /// Multiplies the evaluations `a` by the evaluations `b`, in place.
    ///
    /// # Errors
    /// [`Error::Length`] unless both have n words.
    pub fn multiply(&self, a: &mut [W], b: &[W]) -> Result<()> {
        self.check(a)?;
        self.check(b)?;
        self.row.multiply(cast_slice_mut(a), cast_slice(b));
        stack::wipe::<W>(Step::Product);
        Ok(())
    }

    /// Multiplies a matrix of evaluations, in row-major order, by a vector of evaluations. Writes the evaluations of the
    /// product, with one element for each row of the matrix; zeros for an empty vector.
    ///
    /// # Errors
    /// [`Error::Length`] unless `vector` and `out` have whole limbs, and `matrix` a limb for each pair of these.
    pub fn multiply_matrix(&self, matrix: &[W], vector: &[W], out: &mut [W]) -> Result<()> {
        let limbs = self.count(vector)? * self.count(out)?;
        same_length("words of a matrix", limbs * self.factorization.n(), matrix.len())?;
        if limbs == 0 {
            out.fill(W::zeroed());
            return Ok(());
        }
        self.row.multiply_matrix(cast_slice(matrix), cast_slice(vector), cast_slice_mut(out));
        stack::wipe::<W>(Step::Product);
        Ok(())
    }

    /// Inverts the element with these evaluations in place, and returns true. If it has no inverse, returns false, and
    /// the evaluations are unspecified.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for leaves of degree 5 or 7. [`Error::Length`] unless there are n words.
    pub fn invert(&self, row: &mut [W]) -> Result<bool> {
        self.check(row)?;
        if !self.factorization.shape().can_be_inverted() {
            let job = format!("an inverse modulo leaves of degree {}", self.factorization.leaf_degree());
            return Err(Error::Unsupported { job, why: "the degree must be 1 or 3 times a power of two".into() });
        }
        let exists = self.row.invert(cast_slice_mut(row));
        stack::wipe::<W>(Step::Inversion);
        Ok(exists)
    }

    fn check(&self, row: &[W]) -> Result<()> {
        same_length("words of a limb", self.factorization.n(), row.len())
    }

    /// The number of limbs in these words.
    fn count(&self, rows: &[W]) -> Result<usize> {
        let n = self.factorization.n();
        same_length("words of whole limbs", rows.len().next_multiple_of(n), rows.len())?;
        Ok(rows.len() / n)
    }
}

impl<W> fmt::Debug for Transform<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transform(n {}, radices {})", self.factorization.n(), self.factorization)
    }
}

/// Creates the CPU transform. It is not generic, so that crates which use [`Transform`] do not compile it again.
fn row(rows: &KernelLayout, modulus: usize) -> Arc<dyn ringforge_cpu::Transform> {
    let KernelLayout { poly, factorization, .. } = rows;
    let (arithmetic, q) = (rows.arithmetic.on_cpu(poly), &factorization.roots()[modulus].q);
    let roots = Prime::new(factorization, modulus, arithmetic).of_cpu(factorization, arithmetic, &U256::ONE);
    let unit = limbs(&poly.radix(q));
    arithmetic
        .of_cpu(poly)
        .transform(&arithmetic.modulus(q), &roots, factorization.shape(), &unit, rows.restores())
        .into()
}
