//! A test kernel whose results depend on the order in which work runs, with plans and runs of it.

use core::ops::Range;

use ringforge::cuda::is_compiler_present;
use ringforge::kernels::{Args, Built, Header, Kernel, Launch, Port, Source};
use ringforge::{Device, Limits, Plan, Planner, Program, Result};

pub(crate) const WORDS: usize = 256;
pub(crate) const BYTES: usize = 4 * WORDS;

/// A kernel that computes x = factor·x + key + item, `rounds` times, for each word x of an item; `item` is its index.
#[derive(Debug)]
pub(crate) struct Affine {
    pub(crate) factor: u32,
    pub(crate) rounds: u32,
    pub(crate) shared_bytes: u32,
    pub(crate) ports: [Port; 3],
}

impl Affine {
    pub(crate) fn new(factor: u32) -> Self {
        let ports = [Port::input(BYTES).secret(), Port::shared(4), Port::output(BYTES).secret()];
        Self { factor, rounds: 1, shared_bytes: 0, ports }
    }

    /// A kernel that runs for a long time, because it has many rounds.
    pub(crate) fn slow() -> Self {
        Self { rounds: 2_000, ..Self::new(3) }
    }
}

impl Kernel for Affine {
    fn name(&self) -> &'static str {
        "affine"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let text = "#include \"own.cuh\"\n#include \"prelude.cuh\"\n\
         extern \"C\" __global__ void affine(const u32* x, const u32* key, u32* out, u64 first, u64 end) {\n\
             const u64 item = first + blockIdx.x;\n\
             if (item >= end) return;\n\
             for (u32 j = threadIdx.x; j < WORDS; j += blockDim.x) {\n\
                 u32 value = x[item * WORDS + j];\n\
                 for (u32 round = 0; round < ROUNDS; round++) value = times_plus(value, FACTOR, *key + (u32)item);\n\
                 out[item * WORDS + j] = value;\n\
             }\n\
         }\n";
        const SOURCE: &str = "typedef unsigned int u32;\ntypedef unsigned long long u64;\n\
            static __device__ u32 times_plus(u32 x, u32 factor, u32 more) { return x * factor + more; }\n";
        let headers = &[Header { name: "own.cuh", text: SOURCE }];
        let Self { factor, rounds, .. } = self;
        let prelude = format!("#define WORDS {WORDS}\n#define FACTOR {factor}u\n#define ROUNDS {rounds}u\n");
        let launch = Launch { items_per_block: 1, shared_bytes: self.shared_bytes, ..Launch::thread_per_item(64) };
        // SAFETY: a block accesses only the words of its own item.
        Ok(unsafe { Source::new(self, text, headers, Built { prelude, launch }) })
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        (input, output) == (0, 2)
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let key = args.input::<u32>(1)?[0];
        let out = args.transform::<u32>(0, 2)?;
        for (item, words) in items.zip(out.chunks_mut(WORDS)) {
            for word in words {
                for _ in 0..self.rounds {
                    *word = word.wrapping_mul(self.factor).wrapping_add(key).wrapping_add(item as u32);
                }
            }
        }
        Ok(())
    }
}

/// A chain of steps from `x` to `out` that share one `key`, with a temporary between consecutive steps.
pub(crate) fn steps<const N: usize>(title: &str, kernels: [Affine; N]) -> Plan {
    // planned for a CPU, so that no step runs in place
    let p = Planner::default().pipeline(title);
    let key = p.input("key");
    let out = kernels.into_iter().fold(p.input("x"), |x, kernel| {
        let [out] = p.step(kernel, &[x, key]);
        out
    });
    p.output("out", out);
    p.build().unwrap()
}

pub(crate) fn two_steps() -> Plan {
    steps("two steps", [Affine::new(3), Affine::new(5)])
}

/// A plan with one step from `x` to `out`, or in place on `x`.
pub(crate) fn one_step(kernel: Affine, in_place: bool) -> Plan {
    let p = Planner::default().pipeline("one step");
    let [out] = p.step(kernel, &[p.input("x"), p.input("key")]);
    p.output(if in_place { "x" } else { "out" }, out);
    p.build().unwrap()
}

pub(crate) fn words(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761) ^ 0x5bd1_e995).collect()
}

pub(crate) fn expected(plan: &Plan, x: &[u32], key: u32) -> Vec<u32> {
    let mut out = vec![0; x.len()];
    let program = Device::cpu().compile(plan).unwrap();
    run_host(&program, x, key, &mut out).unwrap();
    out
}

pub(crate) fn run_host(program: &Program, x: &[u32], key: u32, out: &mut [u32]) -> Result<()> {
    program.on_host(x.len() / WORDS).input("x", x).input("key", &[key]).output("out", out).run()
}

pub(crate) fn run(program: &Program, x: &[u32], key: u32) -> Vec<u32> {
    let stream = program.device().stream().unwrap();
    let (x_buffer, key) = (stream.upload(x).unwrap(), stream.upload(&[key]).unwrap());
    let mut out = program.device().buffer(4 * x.len()).unwrap();
    let call = program.on(&stream, x.len() / WORDS).input("x", &x_buffer).input("key", &key);
    call.output("out", &mut out).run().unwrap();
    stream.download(&out).unwrap()
}

/// The first GPU, or `None` after printing why there is none. Panics instead if `RINGFORGE_REQUIRE_GPU` is 1.
pub(crate) fn gpu() -> Option<Device> {
    match Device::cuda(0) {
        Ok(device) => Some(device),
        Err(error) => {
            assert!(std::env::var_os("RINGFORGE_REQUIRE_GPU").is_none_or(|value| value != "1"), "{error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

pub(crate) fn has_compiler() -> bool {
    let present = is_compiler_present();
    assert!(
        present || std::env::var_os("RINGFORGE_REQUIRE_NVRTC").is_none_or(|value| value != "1"),
        "NVRTC is not on this machine"
    );
    if !present {
        eprintln!("skipped: NVRTC is not on this machine");
    }
    present
}
