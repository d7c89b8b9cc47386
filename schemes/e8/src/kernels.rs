//! A kernel and a plan for each CUDA component of this crate, with samples and oracles, for tests. Schemes include the
//! component headers in their own kernels.

use core::fmt::Display;

use ringforge::kernels::{Args, Built, CustomKernel, Port};
use ringforge::{Limits, Planner, Result};
use ringforge_testkit::{NamedPlan, Random, Scheme};

use crate::{E8, PACK, SAMPLE, oracle};

/// Threads per block; each thread processes one item.
const THREADS: u32 = 32;

/// The CUDA components as a test scheme.
#[derive(Debug)]
pub struct Components;

/// Makes the test plan of a component from: kernel name, plan name, constants of `struct Task`, bytes read and written
/// per item, CPU reference, and oracle.
macro_rules! component {
    ($name:literal, $what:expr, $constants:expr, $from:expr => $to:expr, $on_cpu:expr, $oracle:expr) => {{
        let text = ($name, include_str!(concat!("kernels/", $name, ".cu")), &[E8, SAMPLE, PACK][..]);
        let (what, constants): (String, Vec<(&str, u32)>) = ($what, $constants);
        let ports = [Port::input($from), Port::output($to)];
        let built = move |_: &_| {
            let constants: Vec<_> = constants.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
            Ok(Built::thread_per_item(THREADS).constants("Task", &constants))
        };
        let on_cpu = move |items, args: &mut Args<'_>| args.each(items, $on_cpu);
        // SAFETY: each thread reads and writes only its own item, of the sizes of the ports.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, built, on_cpu) };
        let p = Planner::default().pipeline(what.clone());
        let [to] = p.step(kernel.described(what.clone()), &[p.input("from")]);
        p.output("to", to);
        NamedPlan::new(what, p.build()?).expecting(move |_, inputs| vec![("to", $oracle(&inputs["from"]))])
    }};
}

impl Scheme for Components {
    const NAME: &'static str = "E8";

    fn plans(_: &Limits) -> Result<Vec<NamedPlan>> {
        let mut plans = vec![component!(
            "e8_encode_bytes",
            "Encode".into(),
            vec![],
            1 => 2,
            |_, (byte, codewords): (&u8, &mut [u8; 2])| {
                *codewords = [byte & 15, byte >> 4].map(crate::encode);
                Ok(())
            },
            |from: &[u8]| oracle::pack(1, oracle::unpack(4, from).into_iter().flat_map(oracle::encode))
        )];
        for q2 in [1024, 2048] {
            let decode = component!(
                "e8_decode_blocks",
                format!("Decode {{ q2: {q2} }}"),
                vec![("q2", q2.into())],
                16 => 1,
                |_, (v, nibble): (&[u16; 8], &mut u8)| {
                    *nibble = crate::decode(v, q2);
                    Ok(())
                },
                |from: &[u8]| numbers(from).chunks(8).map(|v| oracle::decode(v, q2.into()) as u8).collect()
            );
            plans
                .push(decode.sampled(move |seed, batch| vec![("from", words(coordinates(seed, batch, q2).flatten()))]));
        }
        for eta in 2..=5 {
            plans.push(component!(
                "sample_blocks",
                format!("Sample {{ eta: {eta} }}"),
                vec![("eta", eta)],
                4 * eta as usize => 32,
                |_, (from, to)| crate::centred_binomial(eta, from, to),
                |from: &[u8]| words(oracle::sample(eta, from).into_iter().map(|x| x as u16))
            ));
        }
        for width in [4, 5, 10, 11, 12] {
            // Numbers per unit, equal to `pack_unit` in `pack.cuh`: a unit fills whole 32-bit words.
            let unit = [8, 32, 16, 32][width as usize % 4];
            let (packed, constants) = (crate::packed_bytes(width, unit), vec![("width", width)]);
            let pack = component!(
                "pack_units",
                format!("Pack {{ width: {width} }}"),
                constants.clone(),
                2 * unit => packed,
                |_, (from, to)| crate::pack(width, from, to),
                |from: &[u8]| oracle::pack(width, numbers(from))
            );
            plans.push(pack.sampled(move |seed, batch| {
                let mut random = Random::new(seed);
                vec![("from", words((0..batch * unit).map(|_| random.below(1 << width) as u16)))]
            }));
            plans.push(component!(
                "unpack_units",
                format!("Unpack {{ width: {width} }}"),
                constants,
                packed => 2 * unit,
                |_, (from, to)| crate::unpack(width, from, to),
                |from: &[u8]| words(oracle::unpack(width, from).into_iter().map(|x| x as u16))
            ));
        }
        Ok(plans)
    }
}

/// Returns blocks of eight coordinates modulo q2 as test inputs. Arbitrary coordinates, multiples of q2/4 and multiples
/// of q2/8 alternate; multiples cause ties.
pub(crate) fn coordinates(seed: u64, batch: usize, q2: u16) -> impl Iterator<Item = [u16; 8]> {
    let mut random = Random::new(seed);
    (0..batch).map(move |i| {
        let parts = [q2, 4, 8][i % 3];
        core::array::from_fn(|_| random.below(usize::from(parts)) as u16 * (q2 / parts))
    })
}

fn words(words: impl Iterator<Item = u16>) -> Vec<u8> {
    words.flat_map(u16::to_le_bytes).collect()
}

fn numbers(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes).into()).collect()
}
