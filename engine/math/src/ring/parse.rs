//! Parses rings from text: moduli, a colon, and the quotient polynomial.

use core::str::FromStr;

use crypto_bigint::U256;

use crate::error::{Error, Result};
use crate::modulus::{Modulus, low_u64};
use crate::ring::{Quotient, Ring};

/// Parses a ring from text such as `3457:x^768-x^384+1`.
///
/// - Moduli are decimal, or hexadecimal with `0x`, and separated by commas.
/// - The polynomial is monic in `x`, with its terms in any order. Parentheses around the constant, as in `x^n - (1)`,
///   make it a [`Quotient::Binomial`], whose root and step can both be set.
/// - `@` and numbers separated by commas set the roots ([`Ring::with_roots`]); a second `@` and numbers set the steps
///   ([`Ring::with_steps`]).
///
/// Spaces are ignored. `{:#}` prints any ring in this form.
///
/// ```
/// use ringforge::Ring;
/// let ring: Ring = "3329 : x^256 + 1 @ 17".parse()?;
/// assert_eq!(ring.to_string(), "Z_3329[x]/(x^256 + 1) with root 17");
/// let ring: Ring = "0x3ffc0001,0x3fde0001:x^1024+1".parse()?;
/// assert_eq!(ring.basis().len(), 2);
/// # Ok::<(), ringforge::Error>(())
/// ```
///
/// # Errors
/// [`Error::Ring`] for text of any other form, and for text that describes the storage of elements, which only a
/// [`PolyType`](crate::PolyType) has. Also the errors of [`Modulus::new`], [`Ring::new`], [`Ring::with_roots`] and
/// [`Ring::with_steps`].
impl FromStr for Ring {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (moduli, rest) = halves(&text)?;
        if moduli.contains('#') || rest.contains(':') {
            return refuse(format!(
                "{text:?} says how elements are stored, which a ring does not: parse it as a `PolyType`"
            ));
        }
        Self::of_text(moduli, rest)
    }
}

impl Ring {
    /// Parses a ring from its moduli, such as `97,193`, and the rest after the colon, such as `x^16+1@19,8`. Neither
    /// may contain spaces.
    pub fn of_text(moduli: &str, rest: &str) -> Result<Self> {
        let numbers = |part: &str| part.split(',').map(number).collect::<Result<Vec<_>>>();
        let (polynomial, roots, steps) = match rest.split('@').collect::<Vec<_>>()[..] {
            [polynomial] => (polynomial, None, None),
            [polynomial, roots] => (polynomial, Some(numbers(roots)?), None),
            [polynomial, "", steps] => (polynomial, None, Some(numbers(steps)?)),
            [polynomial, roots, steps] => (polynomial, Some(numbers(roots)?), Some(numbers(steps)?)),
            _ => return refuse(format!("{rest:?} has too many @: expected polynomial @ roots @ steps")),
        };
        let moduli = numbers(moduli)?.into_iter().map(Modulus::new).collect::<Result<Vec<_>>>()?;
        let mut ring = Self::new(&moduli, quotient(polynomial, &moduli)?)?;
        if let Some(roots) = roots {
            ring = ring.with_roots(&roots)?;
        }
        if let Some(steps) = steps {
            ring = ring.with_steps(&steps)?;
        }
        Ok(ring)
    }
}

/// Splits the input at the first colon into the moduli and the rest. Returns [`Error::Ring`] if there is no colon.
pub fn halves(text: &str) -> Result<(&str, &str)> {
    let none =
        || Error::Ring { why: format!("{text:?} needs a colon between moduli and polynomial, as in 3329:x^256+1") };
    text.split_once(':').ok_or_else(none)
}

/// One term of a polynomial: ±`size`·x^`power`. `bracketed` is true for a constant in parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Term {
    power: usize,
    negative: bool,
    size: U256,
    bracketed: bool,
}

impl Term {
    /// Returns the signed coefficient if it fits an `i64`, else `None`.
    fn small(&self) -> Option<i64> {
        let size = i128::from(low_u64(&self.size));
        let fits = self.size.bits_vartime() <= 64;
        i64::try_from(if self.negative { -size } else { size }).ok().filter(|_| fits)
    }
}

fn quotient(text: &str, moduli: &[Modulus]) -> Result<Quotient> {
    let mut terms = terms(text)?;
    terms.sort_by_key(|term| core::cmp::Reverse(term.power));
    let Some((head, lower)) = terms.split_first() else {
        return refuse("the polynomial is empty".into());
    };
    let n = head.power;
    if head.small() != Some(1) {
        return refuse(format!("{text} is not monic"));
    }
    if let [c] = lower
        && c.power == 0
        && (c.bracketed || c.small().is_none())
    {
        match (c, moduli) {
            (Term { negative: true, size, .. }, _) => return Ok(Quotient::Binomial { n, c: *size }),
            (Term { bracketed: false, size, .. }, [q]) => {
                return Ok(Quotient::Binomial { n, c: q.neg(&q.reduce(size)) });
            }
            _ => {}
        }
    }
    let small = |term: &Term| match term.small() {
        Some(c) if !term.bracketed => Ok((term.power, c)),
        Some(_) => refuse(format!("{text} has unexpected brackets: use them only as in x^n - (c)")),
        None => refuse(format!("the coefficient of x^{} does not fit in a signed 64-bit integer", term.power)),
    };
    Ok(Quotient::Sparse { n, terms: lower.iter().map(small).collect::<Result<_>>()? })
}

fn terms(text: &str) -> Result<Vec<Term>> {
    let mut terms = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let negative = rest.starts_with('-');
        rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        let end = rest.find(['+', '-']).unwrap_or(rest.len());
        terms.push(term(&rest[..end], negative)?);
        rest = &rest[end..];
    }
    Ok(terms)
}

/// Parses a term: `5`, `(5)`, `x`, `5x`, `5*x`, `x^3`, `5x^3` or `5*x^3`. A hexadecimal coefficient of x needs the `*`.
fn term(text: &str, negative: bool) -> Result<Term> {
    // skips the x of the prefix 0x, which is not the variable
    let digits = if text.starts_with("0x") { 2 } else { 0 };
    let Some(at) = text[digits..].find('x').map(|at| at + digits) else {
        let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        return Ok(Term { power: 0, negative, size: number(inner.unwrap_or(text))?, bracketed: inner.is_some() });
    };
    let factor = text[..at].strip_suffix('*').unwrap_or(&text[..at]);
    let size = if at == 0 { U256::ONE } else { number(factor)? };
    let power = match &text[at + 1..] {
        "" => 1,
        power => match power.strip_prefix('^').map(str::parse) {
            Some(Ok(power)) => power,
            _ => return refuse(format!("{text:?} is not a term of a polynomial in x")),
        },
    };
    Ok(Term { power, negative, size, bracketed: false })
}

fn number(text: &str) -> Result<U256> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    let number = U256::from_str_radix_vartime(digits, radix).ok();
    let number = number.filter(|_| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    number.map_or_else(|| refuse(format!("{text:?} is not a number of at most 256 bits")), Ok)
}

fn refuse<T>(why: String) -> Result<T> {
    Err(Error::Ring { why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Ring {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn every_kind_of_ring_parses() {
        let q = |q: u64| Modulus::new(q).unwrap();
        assert_eq!(parse("17:x^8-1"), Ring::cyclic(8, q(17)).unwrap());
        assert_eq!(parse("3329:x^256+1"), Ring::negacyclic(256, q(3329)).unwrap());
        assert_eq!(parse("0xd81 : 1 - x^384 + x^768"), Ring::trinomial(768, q(3457)).unwrap());
        assert_eq!(parse("4591:x^761-x-1"), Ring::prime_trinomial(761, q(4591)).unwrap());
        assert_eq!(parse("97,193:x^16+1"), Ring::rns(16, &[q(97), q(193)]).unwrap());
        assert_eq!(parse("17:x^8+1@3"), Ring::negacyclic(8, q(17)).unwrap().with_root(3u32).unwrap());
        let rns = Ring::rns(16, &[q(97), q(193)]).unwrap();
        assert_eq!(parse("97,193:x^16+1@19,8"), rns.with_roots(&[19u32, 8].map(U256::from)).unwrap());
        let sparse = Quotient::Sparse { n: 9, terms: vec![(4, -3), (1, 2), (0, 5)] };
        assert_eq!(parse("97:x^9-3x^4+2*x+5"), Ring::new(&[q(97)], sparse).unwrap());
        let coset = |c: u32| Ring::new(&[q(97)], Quotient::Binomial { n: 8, c: c.into() }).unwrap();
        assert_eq!((parse("97:x^8-5"), parse("97:x^8+0x5")), (coset(5), coset(92)));
        assert_eq!(parse("97:x^8-6@5@33"), Ring::coset(8, q(97), 5u32, 33u32).unwrap());
        assert_eq!(parse("97:x^4").quotient(), &Quotient::Sparse { n: 4, terms: vec![] });
    }

    #[test]
    fn printed_text_parses_back() {
        let texts = "17:x^8-1|3329:x^256+1|3457:x^768-x^384+1|4591:x^761-x-1|97:x^9-3x^4+2x+5|97:x^8-5";
        for text in texts.split('|') {
            let ring = parse(text);
            assert_eq!(parse(&format!("{}:{}", ring.basis()[0], ring.quotient())), ring);
        }
    }
}
