//! Test vectors of the encoder, decoder and sampler, on every device.

use ringforge::Limits;
use ringforge_e8::kernels::Components;
use ringforge_testkit::{Compiled, Named, Scheme, devices};
use serde::Deserialize;

#[derive(Deserialize)]
struct Code {
    encode: Vec<u8>,
    q2_1024: Vec<([u16; 8], u8)>,
    q2_2048: Vec<([u16; 8], u8)>,
}

/// Test vector of the sampler: eta, random bytes in hexadecimal, coefficients.
type Sampled = (u32, String, Vec<i16>);

#[derive(Deserialize)]
struct Samples {
    vectors: Vec<Sampled>,
}

fn code() -> Code {
    serde_json::from_str(include_str!("kat/e8.json")).unwrap()
}

fn run(component: &str, batch: usize, input: Vec<u8>, expected: &[u8]) {
    assert!(batch > 0, "no vectors of {component}");
    let plans = Components::plans(&Limits::cpu()).unwrap();
    let named = plans.iter().find(|plan| plan.name == component).unwrap();
    let inputs = Named::from([("from".into(), input)]);
    for device in devices() {
        let found = Compiled::new(named, &device).unwrap().run(batch, &inputs).unwrap();
        assert_eq!(found["to"], expected, "{component} on {device}");
    }
}

#[test]
fn nibbles_encode() {
    let expected: Vec<u8> = code().encode.into_iter().flat_map(|codeword| [codeword; 2]).collect();
    run("Encode", 16, (0..16).map(|nibble| nibble << 4 | nibble).collect(), &expected);
}

#[test]
fn blocks_decode() {
    let Code { q2_1024, q2_2048, .. } = code();
    for (q2, vectors) in [(1024, q2_1024), (2048, q2_2048)] {
        let input = vectors.iter().flat_map(|(v, _)| v).flat_map(|x| x.to_le_bytes()).collect();
        let expected: Vec<u8> = vectors.iter().map(|(_, nibble)| *nibble).collect();
        run(&format!("Decode {{ q2: {q2} }}"), vectors.len(), input, &expected);
    }
}

#[test]
fn streams_sample() {
    let samples: Samples = serde_json::from_str(include_str!("kat/cbd.json")).unwrap();
    assert!(!samples.vectors.is_empty());
    for (eta, hex, coefficients) in samples.vectors {
        let bytes = (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect();
        let expected: Vec<u8> = coefficients.iter().flat_map(|x| x.to_le_bytes()).collect();
        run(&format!("Sample {{ eta: {eta} }}"), coefficients.len() / 16, bytes, &expected);
    }
}
