//! What kernels know of each row of a basis beside its table: the modulus, and the entries before the table's sections with
//! the scale of the job in them (`Constants` in `ring.cuh`).

use bytemuck::Pod;

use crate::arithmetic::dispatch;
use crate::field::{Field, Store, Visit};
use crate::rows::Rows;
use crate::rows::twiddles::{HEADER, header};
use crate::table::Table;

/// To which the two parts of a row's constants are aligned.
const ALIGNMENT: usize = 16;

impl Rows {
    /// Bytes of the constants of a row.
    pub(super) fn constants_bytes(&self) -> usize {
        self.header_start() + HEADER * self.arithmetic.twiddle_bytes()
    }

    /// The constants of every row of the basis.
    pub(super) fn constants_table(&self) -> Table {
        let moduli = dispatch(&self.ring, self.arithmetic, Constants(self));
        Table::Bytes(self.ring.row_moduli().iter().flat_map(|&modulus| &moduli[modulus]).copied().collect())
    }

    /// The entries of a row of the basis, from the constants of all.
    pub(crate) fn header<'a, T: Pod>(&self, constants: &'a [u8], row: usize) -> &'a [T] {
        let start = row * self.constants_bytes() + self.header_start();
        bytemuck::cast_slice(&constants[start..][..HEADER * self.arithmetic.twiddle_bytes()])
    }

    /// The first byte of the entries: behind the modulus.
    fn header_start(&self) -> usize {
        self.arithmetic.bytes().next_multiple_of(ALIGNMENT)
    }
}

/// Of each of the moduli.
struct Constants<'a>(&'a Rows);

impl Visit for Constants<'_> {
    type Out = Vec<Vec<u8>>;

    fn visit<F: Field, S: Store<F::Word>>(self) -> Vec<Vec<u8>> {
        let Self(rows) = self;
        let constants = rows.split.roots.iter().zip(0..).map(|(roots, modulus)| {
            let constants = rows.arithmetic.constants(&roots.q).into_iter().flat_map(u32::to_le_bytes);
            let mut bytes: Vec<u8> = constants.collect();
            bytes.resize(rows.header_start(), 0);
            let header = header::<F>(&rows.split, modulus, rows.arithmetic, &rows.scale);
            bytes.extend_from_slice(&rows.arithmetic.factors::<F>(&roots.q, &header));
            bytes
        });
        constants.collect()
    }
}
