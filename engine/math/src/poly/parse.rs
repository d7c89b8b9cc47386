//! Parses polynomial types: the text of a ring, optionally followed by a colon and the storage of its elements.

use core::str::FromStr;

use crate::error::{Error, Result};
use crate::modulus::Width;
use crate::poly::PolyType;
use crate::ring::{Ring, parse::halves};

/// Parses a type from the text of a [`Ring`], such as `3457:x^768-x^384+1`, with optional parts:
///
/// - `#` and indices after the moduli select limbs ([`PolyType::with_limbs`]).
/// - A second colon starts the storage, a list of optional parts separated by commas. In this order, they are `64 bits`
///   ([`PolyType::with_width`]), `plain` or `montgomery` ([`PolyType::with_form`]), `any word`
///   ([`PolyType::accepting_any_word`]), and `3 columns` ([`PolyType::strided_batch`]).
///
/// Spaces are ignored. `{:#}` prints any type of coefficients in this form.
///
/// ```
/// use ringforge::PolyType;
/// let poly: PolyType = "2013265921 : x^8 - 1 : montgomery, any word".parse()?;
/// assert_eq!(poly.to_string(), "Z_2013265921[x]/(x^8 - 1) in Montgomery form, any word");
/// # Ok::<(), ringforge::Error>(())
/// ```
///
/// # Errors
/// [`Error::Ring`] for a part of the storage that is not valid; also the errors of parsing a [`Ring`] and of the
/// methods named above.
impl FromStr for PolyType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (moduli, rest) = halves(&text)?;
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
    /// Returns this type with the storage that `text` describes.
    fn stored_as(&self, text: &str) -> Result<Self> {
        let mut parts = text.split(',').peekable();
        let width = parts.next_if(|part| part.ends_with(BITS));
        let form = parts.next_if(|part| *part != ANY_WORD && !part.ends_with(COLUMNS));
        let any_word = parts.next_if_eq(&ANY_WORD);
        let columns = parts.next_if(|part| part.ends_with(COLUMNS));
        if let Some(part) = parts.next() {
            return refuse(format!(
                "unexpected {part:?}: expected width, form, any word and columns, each optional, in this order"
            ));
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
            Some(Ok(columns)) => poly.strided_batch(columns),
            Some(Err(_)) => refuse(format!("the number of columns in {text:?} is not an integer")),
            None => Ok(poly),
        }
    }
}

/// The keyword `any word`, after spaces have been removed.
const ANY_WORD: &str = "anyword";
/// The suffix of a width, such as `64bits`.
const BITS: &str = "bits";
/// The suffix of a number of columns, such as `3columns`.
const COLUMNS: &str = "columns";

fn index(text: &str) -> Result<usize> {
    text.parse().or_else(|_| refuse(format!("{text:?} is not the index of a modulus")))
}

fn refuse<T>(why: String) -> Result<T> {
    Err(Error::Ring { why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str) -> PolyType {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn printed_text_parses_back() {
        let texts = "2013265921:x^8-1:montgomery|2013265921:x^8-1:any word|2013265921:x^8-1@0x78000000:montgomery,any word\
            |3329,17:x^16+1:any word|18446744073709551629:x^2+1:plain|18446744073709551629:x^2+1:plain,any word\
            |18446744073709551629:x^2+1:any word|97,193#0,1,0:x^16+1@19,8:any word|12289,998244353#0,1,0:x^16+1:montgomery\
            |17:x^8-1:3 columns|17:x^8-1:64 bits|17:x^8-1:256 bits|17:x^8-1:32 bits,montgomery|17:x^8-1:256bits,plain,2columns|17:x^4-13@3@13:2columns|2013265921:x^8-1:montgomery,any word,31 columns|3329:x^4+1:any word,7 columns";
        for text in texts.split('|') {
            let poly = stored(text);
            assert_eq!(stored(&format!("{poly:#}")), poly);
            let plain = stored(text.rsplit_once(':').unwrap().0);
            assert_ne!(plain, poly);
            assert_ne!(poly.to_string(), plain.to_string());
            assert!(matches!(text.parse::<Ring>(), Err(Error::Ring { why }) if why.contains("PolyType")), "{text}");
        }
        let same = [
            ("3329:x^256+1:plain", "3329:x^256+1"),
            ("18446744073709551629:x+1:montgomery", "18446744073709551629:x+1"),
        ];
        for (one, other) in same {
            assert_eq!(stored(one), stored(other));
        }
    }

    #[test]
    fn invalid_text_is_refused() {
        let nonsense = "|:|3329|3329:|:x^2+1|3329:1|3329:2x^2+1|3329:-x^2+1|3329:x^2++1|3329:x^2+y|3329:x^2+1@\
            |3329:x^2+x+x|97,193:x^16+1@19|97,97:x^16+1|3329:x^-2+1|33 29k:x+1|3329,:x+1|0x:x+1|3329:x^2+0x|1_0:x+1|2,4:x+1|3329:x^256+1@3329\
            |17:x^4-13@3@|17:x^4-13@3@13@1|17:x^4+1@2@4|3329:x^99999999999999999999+1|3329:x^2+99999999999999999999x\
            |3329:x^2+1:|3329:x^2+1:montgomery|3329:x^2+1:any|3329:x^2+1:any word,plain|3329:x^2+1:plain,plain|3329:x^2+1:plain:plain\
            |3329:x^2+1:any word,any word|17:x^2+1:columns|17:x^2+1:0 columns|17:x^2+1:-1 columns|17:x^2+1:2 columns,any word\
            |17:x^2+1:2 columns,2 columns|65537:x^2+1:16 bits|17:x^2+1:8 bits|17:x^2+1:bits|17:x^2+1:plain,64 bits|17:x^2+1:x columns|17:x^2+1:,2 columns|65536:x^2+1:montgomery|65538,65537:x^2+1:montgomery";
        for text in nonsense.split('|') {
            let refused = text.parse::<PolyType>();
            assert!(matches!(refused, Err(Error::Ring { .. })), "{text}: {refused:?}");
            let refused = text.parse::<Ring>();
            assert!(matches!(refused, Err(Error::Ring { .. })), "{text}: {refused:?}");
        }
        assert!(matches!("1:x+1".parse::<PolyType>(), Err(Error::Modulus { .. })));
        assert!(matches!("17:x^536870912+1".parse::<PolyType>(), Err(Error::TooLarge { .. })));
    }
}
