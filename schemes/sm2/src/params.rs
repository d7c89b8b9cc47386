//! Parameters of the curve sm2p256v1 (GB/T 32918.5), and standard identifiers of key owners.

use crate::field::{Field, Modulus, Scalars};
use crate::field::{Fp, limbs};

/// The identifier that GM/T 0009 prescribes if no other identifier was agreed.
pub const DEFAULT_ID: &[u8] = b"1234567812345678";

/// The identifier of RFC 8998, for SM2 in TLS 1.3.
pub const TLS13_ID: &[u8] = b"TLSv1.3+GM+Cipher+Suite";

/// The longest identifier in bytes. Its length in bits must fit 16 bits.
pub const MAX_ID_BYTES: usize = 8191;

/// The modulus p of the coordinates: 2^256 − 2^224 − 2^96 + 2^64 − 1.
pub(crate) const P: [u64; 4] = <Field as Modulus>::Q;

/// The order n of the group, a prime below p.
pub(crate) const N: [u64; 4] = <Scalars as Modulus>::Q;

/// The coefficient a = −3 of the curve y² = x³ + a x + b, in hexadecimal digits.
pub(crate) const A: &str = "fffffffeffffffffffffffffffffffffffffffff00000000fffffffffffffffc";

/// The coefficient b of the curve y² = x³ + a x + b.
pub(crate) const B: Fp = Fp::from_plain(limbs("28e9fa9e9d9f5e344d5a9e4bcf6509a7f39789f515ab8f92ddbcbd414d940e93"));

/// The coordinates of the base point.
pub(crate) const G: [Fp; 2] = [
    Fp::from_plain(limbs("32c4ae2c1f1981195f9904466a39c9948fe30bbff2660be1715a4589334c74c7")),
    Fp::from_plain(limbs("bc3736a2f4f6779c59bdcee36b692153d0a9877cc62a474002df32e52139f0a0")),
];
