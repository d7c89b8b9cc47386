//! Checks that stored residues are reduced.

use bytemuck::Pod;
use crypto_bigint::U256;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::modulus::{Modulus, Width};
use crate::ring::Ring;

impl Ring {
    /// Whether these are whole elements of the ring, as they are stored, with every residue below its modulus: what
    /// programs take their operands to be. The time it takes tells where the first other one is.
    ///
    /// ```
    /// # use ringforge::{Error, Modulus, Ring};
    /// let ring = Ring::negacyclic(2, Modulus::new(17u32)?)?;
    /// ring.check(&[16u16, 0, 3, 5])?;
    /// assert!(matches!(ring.check(&[16u16, 17]), Err(Error::NotReduced { index: 1, .. })));
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] for other than whole elements; [`Error::NotReduced`].
    pub fn check<T: Pod>(&self, elements: &[T]) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        let size = self.bytes();
        if !bytes.len().is_multiple_of(size) {
            let expected = bytes.len().next_multiple_of(size);
            return Err(Error::Length { what: "bytes of ring elements", expected, got: bytes.len() });
        }
        let (width, n, moduli) = (self.width(), self.degree(), self.basis());
        let bad = bytes.par_chunks(n * width.bytes()).enumerate().find_map_first(|(row, chunk)| {
            let q = &moduli[row % moduli.len()];
            first_not_reduced(width, q, chunk).map(|index| (row * n + index, q.value()))
        });
        bad.map_or(Ok(()), |(index, q)| Err(Error::NotReduced { index, q }))
    }
}

fn first_not_reduced(width: Width, q: &Modulus, row: &[u8]) -> Option<usize> {
    let small = q.value_u64();
    row.chunks_exact(width.bytes()).position(|residue| match (width, small) {
        (Width::W256, _) => U256::from_le_slice(residue) >= q.value(),
        (_, None) => false, // every residue of a narrower width is below a q of more than 64 bits
        (_, Some(q)) => {
            let mut value = [0u8; 8];
            value[..residue.len()].copy_from_slice(residue);
            u64::from_le_bytes(value) >= q
        }
    })
}
