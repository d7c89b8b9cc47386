//! Tests the arithmetic of encryption against the intermediate values in record 0 of every KEM vector file.

use serde::Deserialize;

use ringforge_e8::encode;

use super::*;
use crate::params::SETS;

#[derive(Deserialize)]
struct File {
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    keygen_seed: String,
    enc_coin_seed: String,
    pk: String,
    sk: String,
    ct: String,
    m: String,
    trace: Option<Trace>,
}

#[derive(Deserialize)]
struct Trace {
    f_prime: Vec<i16>,
    f: Vec<i16>,
    g: Vec<i16>,
    h_ntt7_plain: Vec<u32>,
    ntt7_f: Vec<u32>,
    r: Vec<i16>,
    e: Option<Vec<i16>>,
    sigma: Vec<u32>,
    codeword_bits: Vec<u8>,
    c: Vec<u16>,
    cf_mod_q2: Vec<u16>,
}

fn record(name: &str) -> Record {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kat").join(name);
    let file: File = serde_json::from_slice(&std::fs::read(path).expect("the file is there")).expect("as expected");
    file.records.into_iter().next().expect("a record")
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn sample(parameters: &Parameters, seed: &str, skip: usize) -> Vec<i16> {
    let mut coins = vec![0; 2 * parameters.sizes().polynomial_coins];
    ringforge_e8::xof(bytes(seed)[..].try_into().unwrap(), [&mut coins[..]]);
    let mut small = vec![0; parameters.n];
    let part = coins.chunks(parameters.sizes().polynomial_coins).nth(skip).unwrap();
    centred_binomial(parameters.eta, part, &mut small).unwrap();
    small
}

#[test]
fn intermediate_values_match_the_vectors() {
    for parameters in &SETS {
        let record = record(&format!("{}-sha3.json", parameters.name.to_lowercase()));
        let Record { keygen_seed, enc_coin_seed, trace, .. } = &record;
        let trace = trace.as_ref().expect("record 0 has a trace");
        assert_eq!(sample(parameters, keygen_seed, 0), trace.f_prime);
        assert_eq!(sample(parameters, keygen_seed, 1), trace.g);
        assert_eq!(sample(parameters, enc_coin_seed, 0), trace.r);
        trace.e.iter().for_each(|e| assert_eq!(sample(parameters, enc_coin_seed, 1), *e));
        assert_eq!(trace.e.is_some(), parameters.noise);

        has_the_arithmetic_of(&record, parameters);
    }
}

#[test]
fn arithmetic_matches_the_public_c_code() {
    has_the_arithmetic_of(&record("ctru-768-ref2022.json"), &SETS[1]);
}

/// Checks the NTT of f, the unpacking of h, the rounding, the E8 encoding and c·f against the intermediate values of a
/// record. The small polynomials are taken from the record, so hashing is not tested.
fn has_the_arithmetic_of(Record { pk, sk, ct, m, trace, .. }: &Record, parameters: &Parameters) {
    let (pke, mut memory) = (Pke::new(parameters).unwrap(), Polynomials::new(parameters.n));
    let trace = trace.as_ref().expect("record 0 has a trace");
    let mut row = vec![0; parameters.n];
    residues(&trace.f, Q, &mut row);
    pke.wire.forward(&mut row).unwrap();
    assert_eq!(row, trace.ntt7_f);
    unpack(WIRE_WIDTH, &bytes(pk), &mut memory.fields).unwrap();
    let h = memory.fields.iter().map(|&h| u32::from(h) * UNWIRE % Q);
    assert_eq!(h.collect::<Vec<_>>(), trace.h_ntt7_plain);

    let mut c = vec![0; parameters.n];
    pke.compress(&bytes(m), &trace.sigma, &mut c);
    assert_eq!(c, trace.c);
    let bits = bytes(m).into_iter().flat_map(|byte| [byte & 15, byte >> 4]).map(encode);
    let bits = bits.flat_map(|codeword| (0..8).map(move |j| codeword >> j & 1));
    assert_eq!(bits.collect::<Vec<_>>(), trace.codeword_bits);

    let sk = bytes(sk);
    pke.multiply_by_key(parameters.sizes().parts(&sk)[0], &bytes(ct), &mut memory).unwrap();
    assert_eq!(memory.fields, trace.cf_mod_q2);
}

#[test]
fn products_with_the_key_are_exact_at_their_bounds() {
    for parameters in &SETS {
        let pke = Pke::new(parameters).unwrap();
        let n = parameters.n;
        let mut memory = Polynomials::new(n);
        let width = parameters.key_width();
        for field in [0, parameters.largest_field() as u16] {
            let (mut key, mut ciphertext) =
                (vec![0; parameters.sizes().pke_key], vec![0xFF; parameters.sizes().ciphertext]);
            pack(width, &vec![field; n], &mut key).unwrap();
            ciphertext[..8].fill(0x5A);
            pke.multiply_by_key(&key, &ciphertext, &mut memory).unwrap();

            let mut c = vec![0; n];
            unpack(parameters.q2_bits, &ciphertext, &mut c).unwrap();
            let f = 2 * i64::from(parameters.eta) + 1 - i64::from(field);
            let mut t = vec![0; 2 * n];
            (0..n).for_each(|i| (0..n).for_each(|j| t[i + j] += i64::from(c[i]) * f));
            let half = n / 2;
            let low = (0..half).map(|k| t[k] - t[n + k] - t[n + half + k]);
            let high = (0..half).map(|k| t[half + k] + t[n + k]);
            let expected: Vec<u16> = low.chain(high).map(|x| (x & i64::from(parameters.q2() - 1)) as u16).collect();
            assert_eq!(memory.fields, expected);
        }
    }
}
