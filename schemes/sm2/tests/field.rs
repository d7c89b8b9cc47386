//! Tests the 256-bit fields of `field.cuh` against the engine's big integers on every device: modulo the two primes
//! of SM2, and modulo the prime of P-256.

use core::ops::Range;

use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Source};
use ringforge::{Limits, Modulus, Planner, Result, U256};
use ringforge_testkit::{NamedPlan, Random, Scheme};

const P: &str = "fffffffeffffffffffffffffffffffffffffffff00000000ffffffffffffffff";
const N: &str = "fffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123";
const P256: &str = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff";

#[derive(Debug)]
struct Field {
    q: Modulus,
    ports: [Port; 3],
}

impl Kernel for Field {
    fn name(&self) -> &'static str {
        "field"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let q = limbs(&self.q.value());
        let one = limbs(&self.q.to_montgomery(&U256::ONE));
        let r2 = limbs(&self.q.to_montgomery(&self.q.to_montgomery(&U256::ONE)));
        let list = |limbs: [u32; 8]| limbs.map(|limb| limb.to_string() + "u").join(", ");
        let function = |name, limbs| {
            format!(
                "    RF_CONST rf::u32 {name}(rf::u32 i) {{\n        const rf::u32 x[8] = {{{}}};\n        return x[i];\n    }}\n",
                list(limbs)
            )
        };
        // Newton's iteration for -1/q mod 2^32 doubles the number of correct bits in each step
        let inverse = (0..5).fold(1u32, |x, _| x.wrapping_mul(2u32.wrapping_sub(q[0].wrapping_mul(x)))).wrapping_neg();
        let prelude = format!(
            "#pragma once\nstruct Q {{\n    static constexpr rf::u32 limbs = 8;\n{}{}{}    static constexpr rf::u32 inverse = {inverse}u;\n}};\n",
            function("limb", q),
            function("one", one),
            function("r2", r2),
        );
        let built = Built { prelude, launch: Launch::thread_per_item(64) };
        // SAFETY: A thread of field.cu reads and writes only the numbers of its own item.
        Ok(unsafe { Source::new(self, include_str!("field.cu"), &[], built) })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let q = &self.q;
        let number = |bytes: &[u8; 32]| U256::from_le_slice(bytes);
        let down = q.inverse(&q.to_montgomery(&U256::ONE)).unwrap_or(U256::ZERO);
        let half = q.inverse(&U256::from(2u32)).unwrap_or(U256::ZERO);
        let up = q.to_montgomery(&U256::ONE);
        args.each(items, |_, (a, b, out): (&[u8; 32], &[u8; 32], &mut [[u8; 32]; 10])| {
            let (a, b) = (number(a), number(b));
            let inverse = q.inverse(&a).map_or(U256::ZERO, |inverse| q.mul(&inverse, &q.mul(&up, &up)));
            let (sum, difference) = (q.add(&a, &b), q.sub(&a, &b));
            let less = |subtrahend| q.mul(&q.sub(&q.mul(&a, &b), &subtrahend), &down);
            let results = [
                sum,
                difference,
                q.mul(&a, &half),
                q.mul(&q.mul(&a, &b), &down),
                q.mul(&q.mul(&a, &a), &down),
                q.mul(&a, &up),
                q.mul(&a, &down),
                inverse,
                less(q.mul(&sum, &difference)),
                less(q.mul(&difference, &difference)),
            ];
            *out = results.map(|x| x.to_le_bytes().as_ref().try_into().expect("32 bytes"));
            Ok(())
        })
    }
}

fn limbs(x: &U256) -> [u32; 8] {
    let bytes = x.to_le_bytes();
    core::array::from_fn(|i| u32::from_le_bytes(bytes.as_ref()[4 * i..][..4].try_into().expect("4 bytes")))
}

/// Returns pairs of residues: random ones, edge cases, and pairs whose Montgomery product is an edge case, which causes
/// rare carries.
fn sample(q: &Modulus, seed: u64, batch: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut random = Random::new(seed);
    let edge = |random: &mut Random| {
        let bit = [0, 31, 32, 63, 64, 95, 96, 127, 128, 191, 192, 223, 224, 225, 255][random.below(15)];
        let near = q.add(&q.reduce(&U256::ONE.shl_vartime(bit)), &q.reduce_i64(random.below(5) as i64 - 2));
        if random.below(2) == 0 { near } else { q.neg(&near) }
    };
    let up = q.to_montgomery(&U256::ONE);
    let [mut left, mut right] = [Vec::new(), Vec::new()];
    for item in 0..batch {
        let a = if item % 3 == 1 { edge(&mut random) } else { random.residue(q) };
        let b = match item % 6 {
            0 | 1 => random.residue(q),
            4 => edge(&mut random),
            // chosen so that the Montgomery product a b 2^-256 is an edge case
            _ => q.inverse(&a).map_or(a, |inverse| q.mul(&q.mul(&edge(&mut random), &up), &inverse)),
        };
        left.extend_from_slice(a.to_le_bytes().as_ref());
        right.extend_from_slice(b.to_le_bytes().as_ref());
    }
    vec![("a", left), ("b", right)]
}

#[derive(Debug)]
struct Fields;

impl Scheme for Fields {
    const NAME: &'static str = "fields of 256 bits";

    fn plans(limits: &Limits) -> Result<Vec<NamedPlan>> {
        let plan = |name: &str, digits| {
            let q = Modulus::from_hex(digits)?;
            let ports = [Port::input(32), Port::input(32), Port::output(320)];
            let p = Planner::new(limits.clone()).pipeline(name);
            let [results] = p.step(Field { q, ports }, &["a", "b"].map(|name| p.input(name)));
            p.output("results", results);
            Ok(NamedPlan::new(name, p.build()?).sampled(move |seed, batch| sample(&q, seed, batch)))
        };
        [("SM2 p", P), ("SM2 n", N), ("P-256", P256)].map(|(name, digits)| plan(name, digits)).into_iter().collect()
    }
}

ringforge_testkit::suite!(Fields);
