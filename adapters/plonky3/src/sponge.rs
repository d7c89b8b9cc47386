//! Sponges over the rows of matrices, which absorb columns as these become available.

use ringforge::run::BufferSlice;
use ringforge::{Buffer, Engine, Result, Stream};

use crate::hash::HashField;
use crate::layout::Layout;
use crate::poseidon2::{Columns, Poseidon2};

/// One sponge for each row, on the device.
pub(crate) struct Sponges<'a, F: HashField> {
    engine: &'a Engine,
    hash: &'a Poseidon2<F>,
    height: usize,
    /// Number of elements of a matrix before the first row.
    skipped: usize,
    /// Number of columns that are not yet absorbed.
    left: usize,
    /// The number of absorbed columns, and the sponges' states or, after the last column, digests.
    absorbed: Option<(usize, Buffer)>,
}

impl<'a, F: HashField> Sponges<'a, F> {
    /// Sponges for `height` rows of this many columns.
    pub(crate) fn new(engine: &'a Engine, hash: &'a Poseidon2<F>, height: usize, columns: usize) -> Self {
        Self { engine, hash, height, skipped: 0, left: columns, absorbed: None }
    }

    /// The same sponges, which absorb column-major matrices from this row on. Columns are passed without the rows before it.
    pub(crate) fn skipping(self, row: usize) -> Self {
        Self { skipped: row, ..self }
    }

    /// Absorbs the next `count` columns, in this layout. `count` must not exceed the number of columns that are left.
    pub(crate) fn absorb(
        &mut self,
        stream: &Stream,
        columns: BufferSlice<'_>,
        layout: Layout,
        count: usize,
    ) -> Result<()> {
        let before = self.absorbed.take();
        let ends = count == self.left;
        let part = Columns {
            height: self.height,
            count,
            layout,
            skipped: self.skipped,
            before: before.as_ref().map(|(has, _)| has % F::DIGEST),
            ends,
        };
        let program =
            self.engine.program_of(&(self.hash.key_of_rows(), part), |planner| self.hash.columns(planner, part))?;
        let (name, elements) = if ends { ("digests", F::DIGEST) } else { ("next", self.hash.width()) };
        let mut to = self.engine.device().buffer(self.height * elements * size_of::<F>())?;
        let call = program.on(stream, self.height).input("columns", columns);
        let call = match &before {
            Some((_, states)) => call.input("states", states),
            None => call,
        };
        call.output(name, &mut to).run()?;
        self.left -= count;
        self.absorbed = Some((before.map_or(0, |(has, _)| has) + count, to));
        Ok(())
    }

    /// Returns the digests of all rows, or [`Error::Length`](crate::Error::Length) unless all columns are absorbed.
    pub(crate) fn digests(self) -> Result<Buffer> {
        match self.absorbed {
            Some((_, digests)) if self.left == 0 => Ok(digests),
            _ => Err(crate::layers::length("number of columns to hash (must be at least 1)", 1, 0)),
        }
    }
}
