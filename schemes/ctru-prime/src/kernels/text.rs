//! The CUDA headers of the kernels, and the constants of a parameter set as CUDA source.

use ringforge::kernels::Header;
use ringforge::words::Divisor;

use super::{GROUP, GROUPS, HASH_THREADS, Keys};
use crate::params::Parameters;
use crate::product::{LIMB_BITS, Way};
use crate::radix::{Level, levels};

const RADIX: Header = Header { name: "ctru_prime_radix.cuh", text: include_str!("ctru_prime_radix.cuh") };
const RING: Header = Header { name: "ctru_prime_ring.cuh", text: include_str!("ctru_prime_ring.cuh") };
const TRANSFORM: Header = Header { name: "ctru_prime_transform.cuh", text: include_str!("ctru_prime_transform.cuh") };
const TENSOR: Header = Header { name: "ctru_prime_tensor.cuh", text: include_str!("ctru_prime_tensor.cuh") };
const GROUP_TEXT: Header = Header { name: "ctru_prime_group.cuh", text: include_str!("ctru_prime_group.cuh") };
const INVERSE: Header = Header { name: "ctru_prime_inverse.cuh", text: include_str!("ctru_prime_inverse.cuh") };
const FIELDS: Header = Header { name: "ctru_prime_fields.cuh", text: include_str!("ctru_prime_fields.cuh") };
const SECRET: Header = Header { name: "ctru_prime_secret.cuh", text: include_str!("ctru_prime_secret.cuh") };
const ENCRYPT: Header = Header { name: "ctru_prime_encrypt.cuh", text: include_str!("ctru_prime_encrypt.cuh") };
const HASH: Header = Header { name: "ctru_prime_hash.cuh", text: include_str!("ctru_prime_hash.cuh") };

pub(super) const RING_HEADERS: &[Header] = &[
    RADIX,
    RING,
    TRANSFORM,
    TENSOR,
    GROUP_TEXT,
    INVERSE,
    FIELDS,
    SECRET,
    ENCRYPT,
    ringforge_batch::STATUS,
    ringforge_e8::E8,
    ringforge_e8::SAMPLE,
];
pub(super) const HASH_HEADERS: &[Header] = &[HASH, FIELDS, ringforge_batch::STATUS];

/// Returns `struct Set`, the constants of a parameter set, as CUDA source. `row` is the number of words of shared
/// memory ("cells") per polynomial, 0 for kernels that hash.
pub(super) fn set(p: &Parameters, row: usize, way: Way, keys: Keys) -> String {
    let (reciprocal, shift) = Divisor::new(p.q).reciprocal();
    let prepared = |bytes| if keys == Keys::Plain { 0 } else { bytes };
    // the stride between keys is 0 if all items share one key
    let pitch = |bytes, prepared| match keys {
        Keys::Plain => bytes,
        Keys::One => 0,
        Keys::Prepared => prepared,
    };
    let numbers = [
        ("n", p.n),
        ("q", p.q as usize),
        ("q2_bits", p.q2_bits as usize),
        ("eta", p.eta as usize),
        ("key_offset", p.key_offset() as usize),
        ("limb_bits", LIMB_BITS as usize),
        ("reciprocal", reciprocal as usize),
        ("reciprocal_shift", shift as usize),
        ("public_key", p.sizes().public_key),
        ("pke_key", p.sizes().pke_key),
        ("secret_key", p.sizes().kem().secret_key),
        ("ciphertext", p.sizes().ciphertext),
        ("one_key", usize::from(keys == Keys::One)),
        ("large_bytes", prepared(way.large_bytes(p))),
        ("small_bytes", prepared(way.small_bytes(p))),
        ("public_pitch", pitch(p.sizes().public_key, way.prepared_public_bytes(p))),
        ("secret_pitch", pitch(p.sizes().kem().secret_key, way.prepared_secret_bytes(p))),
        ("message", p.sizes().message),
        ("message_pitch", p.message_pitch()),
        ("rejection_pitch", p.rejection_pitch()),
        ("coins", p.sizes().polynomial_coins),
        ("coins_pitch", p.coins_pitch()),
        ("group", GROUP),
        ("groups", GROUPS),
        ("hash_threads", HASH_THREADS as usize),
    ];
    let numbers = numbers.map(|(name, value)| format!("    static constexpr rf::u32 {name} = {value};\n")).concat();
    format!("// {}\nstruct Set {{\n{numbers}{}}};\n", p.name, radix(p, row))
}

/// Returns the constants for the levels of public-key packing, as CUDA source. The last level is a single digit.
fn radix(p: &Parameters, row: usize) -> String {
    let levels = levels(p.n, p.q);
    let last = levels.len() - 1;
    let bytes = |level: &Level| if level.len > 1 { level.bytes() } else { [p.sizes().public_key - level.offset; 2] };
    // the first level's digits start at cell 0; those of the other levels follow one another from the middle of the
    // cells
    let below = |l: usize| levels[1..l].iter().map(|level| level.len).sum::<usize>();
    let at = (0..=last).map(|l| if l == 0 { 0 } else { row / 2 + below(l) });
    let column = |number: fn(&Level) -> usize| levels.iter().map(number).collect::<Vec<_>>();
    let columns = [
        ("len", column(|level| level.len)),
        ("modulus", column(|level| level.modulus as usize)),
        ("last", column(|level| level.last as usize)),
        ("each", levels.iter().map(|level| bytes(level)[0]).collect()),
        ("final", levels.iter().map(|level| bytes(level)[1]).collect()),
        ("offset", column(|level| level.offset)),
        ("at", at.collect()),
    ];
    let columns = columns.map(|(name, numbers)| {
        let numbers: Vec<_> = numbers.iter().map(usize::to_string).collect();
        format!("    static constexpr rf::u32 level_{name}[] = {{{}}};\n", numbers.join(", "))
    });
    format!("    static constexpr rf::u32 levels = {last};\n{}", columns.concat())
}
