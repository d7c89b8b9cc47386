//! Formats large integers in decimal.

use crypto_bigint::{NonZero, U256};

/// Returns x in decimal digits.
pub fn decimal(x: &U256) -> String {
    let ten19 = NonZero::new(U256::from(10_000_000_000_000_000_000u64));
    let Some(ten19) = ten19.into_option() else { return String::new() };
    let mut parts = Vec::new();
    let mut rest = *x;
    loop {
        let (quotient, digits) = rest.div_rem_vartime(&ten19);
        rest = quotient;
        if rest == U256::ZERO {
            parts.push(digits.to_words()[0].to_string());
            break;
        }
        parts.push(format!("{:019}", digits.to_words()[0]));
    }
    parts.into_iter().rev().collect()
}
