//! The form in which residues are stored, and the check that they are reduced.

use core::fmt;
use core::str::FromStr;

use bytemuck::Pod;
use crypto_bigint::U256;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::modulus::{Modulus, Width};
use crate::poly::PolyType;

/// The form in which residues are stored, in inputs and outputs alike. Set by [`PolyType::with_form`].
///
/// ```
/// # use ringforge::{Form, Modulus, PolyType, Ring};
/// // BabyBear as Plonky3 stores it, x·2^32 mod q
/// let ring = Ring::cyclic(8, Modulus::new(2013265921u32)?)?;
/// let poly = PolyType::from(ring).with_form(Form::Montgomery)?;
/// assert_eq!(poly.to_string(), "Z_2013265921[x]/(x^8 - 1) in Montgomery form");
/// assert_eq!(poly, "2013265921 : x^8 - 1 : montgomery".parse()?);
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// The residue x itself.
    Plain,
    /// x·R mod q, where R is 2^32, 2^64 or 2^256 for residues of 32, 64 or 256 bits ([`PolyType::width`]).
    Montgomery,
}

impl Form {
    /// The form of a type that does not choose one: Montgomery for 256-bit residues, plain for narrower ones.
    pub fn default_of(width: Width) -> Self {
        if width == Width::W256 { Self::Montgomery } else { Self::Plain }
    }
}

/// Writes the keyword of the form in a type's text: `plain` or `montgomery`.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Montgomery => "montgomery",
        })
    }
}

impl FromStr for Form {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let form = [Self::Plain, Self::Montgomery].into_iter().find(|form| form.to_string() == text);
        form.ok_or_else(|| Error::Ring {
            why: format!("the form of residues must be plain or montgomery, not {text:?}"),
        })
    }
}

impl PolyType {
    /// Returns log2 R if residues are stored as x·R mod q, or 0 if they are plain.
    pub fn radix_bits(&self) -> u32 {
        match self.form() {
            Form::Plain => 0,
            Form::Montgomery => 8 * self.width().bytes() as u32,
        }
    }

    /// Returns R mod q, where residues modulo q are stored as x·R mod q. R is 1 for plain residues, and for an even q,
    /// which has no Montgomery form.
    pub fn radix(&self, q: &Modulus) -> U256 {
        let bits = if q.is_odd() { self.radix_bits() } else { 0 };
        q.pow(&q.reduce(&U256::from(2u32)), &U256::from(bits))
    }

    /// Checks that a slice holds whole items and that every residue is below its modulus, as programs require of their
    /// operands. Residues are not checked if the type [accepts any word](PolyType::accepts_any_word). The running time
    /// reveals the index of the first residue that is not below its modulus.
    ///
    /// ```
    /// # use ringforge::{Error, PolyType};
    /// let poly: PolyType = "17 : x^2 + 1".parse()?;
    /// poly.check(&[16u16, 0, 3, 5])?;
    /// assert!(matches!(poly.check(&[16u16, 17]), Err(Error::NotReduced { index: 1, .. })));
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if the slice is not a whole number of items; [`Error::NotReduced`] for the first residue that
    /// is not below its modulus.
    pub fn check<T: Pod>(&self, elements: &[T]) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        let size = self.bytes();
        if !bytes.len().is_multiple_of(size) {
            let expected = bytes.len().next_multiple_of(size);
            return Err(Error::Length { what: "bytes of ring elements", expected, got: bytes.len() });
        }
        if self.accepts_any_word() {
            return Ok(());
        }
        let (width, n, moduli) = (self.width(), self.degree(), self.basis());
        ringforge_cpu::threads::start();
        let bad = bytes.par_chunks(n * width.bytes()).enumerate().find_map_first(|(row, chunk)| {
            let q = &moduli[row % moduli.len()];
            first_not_reduced(width, q, chunk).map(|index| (row * n + index, q.value()))
        });
        bad.map_or(Ok(()), |(index, q)| Err(Error::NotReduced { index, q }))
    }
}

/// Number of residues that one parallel task checks, if a limb is longer than that.
const SHARE: usize = 1 << 16;

fn first_not_reduced(width: Width, q: &Modulus, row: &[u8]) -> Option<usize> {
    let small = q.value_u64();
    let is_bad = |residue: &[u8]| match (width, small) {
        (Width::W256, _) => U256::from_le_slice(residue) >= q.value(),
        (_, None) => false, // every residue of a narrower width is below a q of more than 64 bits
        (_, Some(q)) => {
            let mut value = [0u8; 8];
            value[..residue.len()].copy_from_slice(residue);
            u64::from_le_bytes(value) >= q
        }
    };
    let bytes = width.bytes();
    let first = |share: &[u8]| share.chunks_exact(bytes).position(is_bad);
    if row.len() <= SHARE * bytes {
        return first(row);
    }
    ringforge_cpu::threads::start();
    let shares = row.par_chunks(SHARE * bytes).enumerate();
    shares.find_map_first(|(share, residues)| first(residues).map(|index| share * SHARE + index))
}
