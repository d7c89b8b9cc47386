//! Types from text: a ring, a colon, and how its elements are stored.

use core::str::FromStr;

use crate::error::{Error, Result};
use crate::modulus::Width;
use crate::poly::PolyType;
use crate::ring::Ring;

/// A type from the text of a [`Ring`], such as `3457:x^768-x^384+1`.
///
/// `#` and numbers after the moduli are those of [`PolyType::with_limbs`]. A second colon and a number of `bits`, `plain` or
/// `montgomery`, `any word`, a number of `columns`, or more of them in this order with commas between them, say how residues are
/// stored: [`PolyType::with_width`], [`PolyType::with_form`], [`PolyType::accepting_any_word`], [`PolyType::in_columns`]. Spaces
/// have no meaning. `{:#}` prints the type of any coefficients in this form.
///
/// ```
/// use ringforge::PolyType;
/// let poly: PolyType = "2013265921 : x^8 - 1 : montgomery, any word".parse()?;
/// assert_eq!(poly.to_string(), "Z_2013265921[x]/(x^8 - 1) in Montgomery form, any word");
/// # Ok::<(), ringforge::Error>(())
/// ```
///
/// # Errors
/// As the ring's text; [`Error::Ring`] for storage that has no meaning, and as those methods.
impl FromStr for PolyType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let Some((moduli, rest)) = text.split_once(':') else {
            return refuse(format!("{text:?} has no colon between moduli and polynomial, as in 3329:x^256+1"));
        };
        let (rest, stored) = rest.split_once(':').map_or((rest, None), |(rest, stored)| (rest, Some(stored)));
        let (moduli, map) = moduli.split_once('#').map_or((moduli, None), |(moduli, map)| (moduli, Some(map)));
        let mut poly = Self::from(Ring::of_text(moduli, rest)?);
        if let Some(map) = map {
            poly = poly.with_limbs(&map.split(',').map(index).collect::<Result<Vec<_>>>()?)?;
            poly = poly.with_width(super::width(poly.basis()))?;
        }
        stored.map_or_else(|| Ok(poly.clone()), |stored| poly.stored_as(stored))
    }
}

impl PolyType {
    /// The same with residues as this text says.
    fn stored_as(&self, text: &str) -> Result<Self> {
        let mut parts = text.split(',').peekable();
        let width = parts.next_if(|part| part.ends_with(BITS));
        let form = parts.next_if(|part| *part != ANY_WORD && !part.ends_with(COLUMNS));
        let any_word = parts.next_if_eq(&ANY_WORD);
        let columns = parts.next_if(|part| part.ends_with(COLUMNS));
        if let Some(part) = parts.next() {
            return refuse(format!("{part:?} comes too late, or has no meaning"));
        }
        let mut poly = match width.and_then(|bits| bits.strip_suffix(BITS)) {
            None => self.clone(),
            Some("16") => self.with_width(Width::W16)?,
            Some("32") => self.with_width(Width::W32)?,
            Some("64") => self.with_width(Width::W64)?,
            Some("256") => self.with_width(Width::W256)?,
            Some(bits) => return refuse(format!("residues are stored in 16, 32, 64 or 256 bits, not in {bits}")),
        };
        if let Some(form) = form {
            poly = poly.with_form(form.parse()?)?;
        }
        if any_word.is_some() {
            poly = poly.accepting_any_word();
        }
        match columns.and_then(|columns| columns.strip_suffix(COLUMNS)).map(str::parse) {
            Some(Ok(columns)) => poly.in_columns(columns),
            Some(Err(_)) => refuse(format!("{text:?} has no number of columns")),
            None => Ok(poly),
        }
    }
}

/// `any word` without spaces.
const ANY_WORD: &str = "anyword";
/// What follows the number of bits.
const BITS: &str = "bits";
/// What follows the number of columns.
const COLUMNS: &str = "columns";

fn index(text: &str) -> Result<usize> {
    text.parse().or_else(|_| refuse(format!("{text:?} is no number of a modulus")))
}

fn refuse<T>(why: String) -> Result<T> {
    Err(Error::Ring { why })
}
