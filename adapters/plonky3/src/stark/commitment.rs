//! Commitments whose extensions are kept on the device, or made again when they are needed.

use p3_field::ExtensionField;
use ringforge::{Buffer, Result, Stream};

use super::place::Place;
use crate::gather::Gathering;
use crate::hash::HashField;
use crate::resident::{self, Committed, Divided, Division, Gathered, Matrix, MerkleTree, Rows, Trace};
use crate::transform::Transform;

/// A tree over the rows of extensions.
#[derive(Debug)]
pub(super) struct Commitment<'a, F: HashField> {
    pub(super) tree: MerkleTree<F>,
    matrices: Matrices<'a, F>,
}

#[derive(Debug)]
enum Matrices<'a, F> {
    Extended(Vec<Matrix<F>>),
    /// One extension, of which each device has a part.
    Divided(Divided<F>),
    Traces(Vec<&'a Matrix<F>>),
}

/// The columns of a matrix that was committed to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Columns<'a, F> {
    /// Their extension, in bit-reversed order.
    Extended(&'a Matrix<F>),
    /// Their extension, of which each device has a part.
    Divided(&'a Divided<F>),
    /// The columns before their extension, in natural order.
    Trace(&'a Matrix<F>),
}

impl<F: HashField> From<Committed<F>> for Commitment<'_, F> {
    fn from(of: Committed<F>) -> Self {
        Self { tree: of.tree, matrices: Matrices::Extended(of.matrices) }
    }
}

impl<'a, F: HashField> Commitment<'a, F> {
    /// Commits to a trace, on all devices of the proof.
    pub(super) fn of_trace<EF, M>(at: &Place<'_, F, EF, M>, trace: Trace<'_, F>) -> Result<Self> {
        let (hash, added_bits) = (at.pcs.mmcs().hash(), at.log_blowup());
        if at.members.is_empty() {
            return resident::commit(at.engine, at.stream, hash, &[trace], added_bits).map(Into::into);
        }
        let (divided, tree) = resident::commit_divided(&at.members, hash, trace, added_bits)?;
        Ok(Self { tree, matrices: Matrices::Divided(divided) })
    }

    /// Commits to a quotient of 2^log_chunks chunks, given by its values, on all devices of the proof. They are more than one.
    pub(super) fn of_quotient<EF: ExtensionField<F>, M>(
        at: &Place<'_, F, EF, M>,
        values: &Buffer,
        (log_n, log_chunks): (usize, usize),
    ) -> Result<Self> {
        let (hash, log_devices) = (at.pcs.mmcs().hash(), at.members.len().ilog2() as usize);
        let division = Division { log_n, added_bits: at.log_blowup(), log_devices };
        let values = (values, log_chunks, EF::DIMENSION);
        let (divided, tree) = resident::commit_chunks(&at.members, hash, values, division)?;
        Ok(Self { tree, matrices: Matrices::Divided(divided) })
    }

    /// Commits to columns on the device without keeping their extensions. They are contiguous.
    pub(super) fn of_traces<EF, M>(at: &Place<'_, F, EF, M>, traces: Vec<&'a Matrix<F>>) -> Result<Self> {
        let all: Vec<_> = traces.iter().map(|trace| Trace::resident(trace, F::GENERATOR)).collect();
        let tree = resident::commit_in_parts(at.engine, at.stream, at.pcs.mmcs().hash(), &all, at.log_blowup())?;
        Ok(Self { tree, matrices: Matrices::Traces(traces) })
    }

    /// The columns of all matrices.
    pub(super) fn columns(&self) -> Vec<Columns<'_, F>> {
        match &self.matrices {
            Matrices::Divided(of) => vec![Columns::Divided(of)],
            Matrices::Extended(matrices) => matrices.iter().map(Columns::Extended).collect(),
            Matrices::Traces(traces) => traces.iter().map(|trace| Columns::Trace(trace)).collect(),
        }
    }

    /// Gathers the rows of all matrices and the paths for the leaves with these indices.
    pub(super) fn gather<'c, EF, M>(
        &'c self,
        at: &Place<'_, F, EF, M>,
        to: &mut Gathering<'c>,
        leaves: &[usize],
    ) -> Result<Gathered<F>> {
        let cap_height = at.pcs.mmcs().cap_height().min(self.tree.height());
        let rows = |columns: Columns<'c, F>| match columns {
            Columns::Extended(matrix) => self.tree.gather_rows(to, matrix, leaves),
            Columns::Divided(of) => Ok(Rows::OnHost(of.rows(&at.members, leaves)?)),
            Columns::Trace(matrix) => {
                let height = matrix.height() << at.log_blowup();
                let numbers: Vec<_> = leaves.iter().map(|&leaf| self.tree.row_of(leaf, height)).collect();
                let trace = Trace::resident(matrix, F::GENERATOR);
                Ok(Rows::OnHost(trace.rows_of_extension(at.engine, at.stream, at.log_blowup(), &numbers)?))
            }
        };
        let rows = self.columns().into_iter().map(rows).collect::<Result<_>>()?;
        Ok(Gathered { leaves: leaves.len(), rows, paths: self.tree.gather(to, leaves, cap_height)? })
    }
}

impl<'a, F: HashField> Columns<'a, F> {
    /// The matrix; of a divided one the part of the first device, which has the first rows.
    pub(super) fn matrix(self) -> &'a Matrix<F> {
        self.on(0)
    }

    /// The matrix; of a divided one the part of this device.
    pub(super) fn on(self, device: usize) -> &'a Matrix<F> {
        match self {
            Self::Extended(matrix) | Self::Trace(matrix) => matrix,
            Self::Divided(of) => &of.parts[device],
        }
    }

    pub(super) fn divided(self) -> Option<&'a Divided<F>> {
        if let Self::Divided(of) = self { Some(of) } else { None }
    }

    /// The first 2^(log_n + added_bits) rows of the extension, where 2^log_n rows are extended. `None` if the matrix has
    /// them.
    pub(super) fn first_rows(self, stream: &Stream, log_n: usize, added_bits: usize) -> Result<Option<Matrix<F>>> {
        let (n, shift, matrix) = (1usize << log_n, F::GENERATOR, self.matrix());
        let transform = match self {
            Self::Trace(_) => Transform::Extend(added_bits, shift),
            _ if matrix.height() >= n << added_bits => return Ok(None),
            _ => Transform::ExtendReversed(added_bits, shift, shift),
        };
        matrix.first_transformed(stream, n, transform).map(Some)
    }
}
