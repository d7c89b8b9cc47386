//! Parameters of the curve sm2p256v1 (GB/T 32918.5), and identifiers of its users.

use crate::field::{Field, Modulus, Scalars};
use crate::field::{Fp, limbs};

/// The identifier that GM/T 0009 prescribes if no other one was agreed.
pub const DEFAULT_ID: &[u8] = b"1234567812345678";

/// The identifier of RFC 8998, for SM2 in TLS 1.3.
pub const TLS13_ID: &[u8] = b"TLSv1.3+GM+Cipher+Suite";

/// The length limit of identifiers in bytes: the length in bits must fit 16 bits.
pub const MAX_ID_BYTES: usize = 8191;

/// The modulus of the coordinates: 2^256 − 2^224 − 2^96 + 2^64 − 1.
pub(crate) const P: [u64; 4] = <Field as Modulus>::Q;

/// The order of the group, a prime below p.
pub(crate) const N: [u64; 4] = <Scalars as Modulus>::Q;

/// a = −3 of y² = x³ + a x + b, in hexadecimal digits.
pub(crate) const A: &str = "fffffffeffffffffffffffffffffffffffffffff00000000fffffffffffffffc";

/// b of y² = x³ + a x + b.
pub(crate) const B: Fp = Fp::from_plain(limbs("28e9fa9e9d9f5e344d5a9e4bcf6509a7f39789f515ab8f92ddbcbd414d940e93"));

/// The base point's coordinates.
pub(crate) const G: [Fp; 2] = [
    Fp::from_plain(limbs("32c4ae2c1f1981195f9904466a39c9948fe30bbff2660be1715a4589334c74c7")),
    Fp::from_plain(limbs("bc3736a2f4f6779c59bdcee36b692153d0a9877cc62a474002df32e52139f0a0")),
];
