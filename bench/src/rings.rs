//! The rings that are checked.

/// The modulus of BLS12-381's scalar field.
macro_rules! bls12_381 {
    ($polynomial:literal) => {
        concat!("0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001:", $polynomial)
    };
}

/// The same alone.
pub(crate) const BLS12_381: &str = "0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

/// Rings of every kind, with a name.
pub(crate) const CHECKED: &[(&str, &str)] = &[
    ("cyclic, 13-bit prime", "7681:x^512-1"),
    ("ML-KEM", "3329:x^256+1"),
    ("Falcon-1024", "12289:x^1024+1"),
    ("coset of a cyclic ring", "12289:x^256-7506"),
    ("CTRU-512", "3457:x^512-x^256+1"),
    ("CTRU-768", "3457:x^768-x^384+1"),
    ("CTRU-1024", "3457:x^1024-x^512+1"),
    ("30-bit prime", "1073479681:x^1024+1"),
    ("RNS of three 30-bit primes", "1073479681,1072496641,1071513601:x^1024+1"),
    ("Goldilocks", "0xffffffff00000001:x^1024-1"),
    ("60-bit prime", "1152921504606584833:x^4096+1"),
    ("62-bit prime", "4611686018427322369:x^8192+1"),
    ("49-bit prime", "562949952798721:x^16384+1"),
    ("FHE: RNS of three 60-bit primes", "1152921504606584833,1152921504598720513,1152921504597016577:x^65536+1"),
    ("BLS12-381 Fr", bls12_381!("x^512-1")),
    ("NTRU Prime 761", "4591:x^761-x-1"),
    ("Saber", "8192:x^256+1"),
    ("NTRU-HPS 677", "2048:x^677-1"),
    ("sparse f, 17-bit prime", "65537:x^200-3x^7+2x+5"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use ringforge::Ring;

    #[test]
    fn every_ring_is_one() {
        for (name, ring) in CHECKED {
            assert!(ring.parse::<Ring>().is_ok(), "{name}: {:?}", ring.parse::<Ring>());
        }
    }
}
