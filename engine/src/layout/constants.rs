//! Constants of each limb besides its twiddle table: the modulus, and the header entries (the first `HEADER` entries)
//! of the table, with the scale of the inverse transform folded in (`Constants` in `ring.cuh`).

use ringforge_cpu::HEADER;

use crate::layout::KernelLayout;
use crate::layout::twiddles::Prime;
use ringforge_runtime::kernel::Table;

/// Alignment of the two parts of a limb's constants, in bytes.
const ALIGNMENT: usize = 16;

impl KernelLayout {
    /// Bytes of the constants of one limb.
    pub(super) fn constants_bytes(&self) -> usize {
        self.header_start() + HEADER * self.arithmetic.twiddle_bytes()
    }

    /// The constants of every limb of the basis.
    pub(super) fn constants_table(&self) -> Table {
        let of_modulus = |modulus: usize| {
            let (prime, q) =
                (Prime::new(&self.factorization, modulus, self.arithmetic), &self.factorization.roots()[modulus].q);
            let words = prime.header(&self.factorization, &self.scale).each_ref().map(|x| self.arithmetic.word(q, x));
            let constants = self.arithmetic.constants(q).into_iter().flat_map(u32::to_le_bytes);
            let mut bytes: Vec<u8> = constants.collect();
            bytes.resize(self.header_start(), 0);
            bytes.extend_from_slice(&self.arithmetic.factors(&self.poly, q, &words));
            bytes
        };
        let moduli: Vec<_> = (0..self.factorization.roots().len()).map(of_modulus).collect();
        Table::Bytes(self.poly.limb_moduli().iter().flat_map(|&modulus| &moduli[modulus]).copied().collect())
    }

    /// The header entries for the limb of the basis with index `row`, from the constants of all limbs.
    pub(crate) fn header<'a>(&self, constants: &'a [u8], row: usize) -> &'a [u8] {
        let start = row * self.constants_bytes() + self.header_start();
        &constants[start..][..HEADER * self.arithmetic.twiddle_bytes()]
    }

    /// Offset in bytes of a limb's header entries, which follow the constants of its modulus.
    fn header_start(&self) -> usize {
        self.arithmetic.bytes().next_multiple_of(ALIGNMENT)
    }
}
