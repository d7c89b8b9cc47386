//! The kernels: what each stage reads and writes, and its text.

use core::fmt;
use core::ops::Range;

use ringforge::{Args, Built, Header, Kernel, Launch, Limits, Port, Result, Role, Rows, Source, Table};
use ringforge_batch::STATUS;

use crate::item::Scheme;
use crate::params::{N, Parameters, SEED, rows};

/// Threads of a block that hashes, one item each.
const HASH_THREADS: u32 = 128;
/// Threads of a block that samples, one polynomial each.
const SAMPLE_THREADS: usize = 64;
/// Bytes of shared memory of a polynomial that is sampled: one value more, and an odd number of words.
const PITCH: usize = 2 * N + 4;

/// What a kernel does to each item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Seeds d ‖ z to rho and noise.
    Seed,
    /// Rho to the matrix.
    Matrix { transposed: bool },
    /// Seeds, rho, matrix, noise to key pairs, but for the hash.
    Generate,
    /// Public keys to the hashes in secret keys.
    Finish,
    /// Public keys and messages to shared keys, rho, noise.
    Encapsulate,
    /// Public keys, messages, matrix, noise to ciphertexts.
    Encrypt,
    /// Secret keys and ciphertexts to messages.
    Decrypt,
    /// Secret keys, ciphertexts, messages to pairs of shared keys, rho, noise.
    Decapsulate,
    /// Encryption again, compared with the ciphertext: one of the shared keys.
    Compare,
    /// Public keys to statuses.
    CheckPublic,
    /// Secret keys to statuses.
    CheckSecret,
}

const HEADERS: &[Header] = &[
    STATUS,
    Header { name: "mlkem_set.cuh", text: include_str!("kernels/mlkem_set.cuh") },
    Header { name: "mlkem_hash.cuh", text: include_str!("kernels/mlkem_hash.cuh") },
    Header { name: "mlkem_ring.cuh", text: include_str!("kernels/mlkem_ring.cuh") },
    Header { name: "mlkem_encrypt.cuh", text: include_str!("kernels/mlkem_encrypt.cuh") },
];

impl Stage {
    fn is_on_rows(self) -> bool {
        matches!(self, Self::Generate | Self::Encrypt | Self::Decrypt | Self::Compare)
    }

    /// The name, the text, and the ports without that of the table of factors.
    fn parts(self, p: &Parameters) -> (&'static str, &'static str, Vec<Port>) {
        let sizes = p.sizes();
        let secret = |bytes| Port::input(bytes).secret();
        let [public_key, ciphertext] = [sizes.public_key, sizes.ciphertext].map(Port::input);
        let [secret_key, noise, key_noise] = [sizes.secret_key, p.noise(), p.key_noise()].map(secret);
        let [rho, matrix] = [SEED, p.matrix()].map(Port::input);
        let [seed, seeds] = [SEED, 2 * SEED].map(secret);
        let status = Port::status();
        macro_rules! stage {
            ($name:literal: $($port:expr),*) => {
                (concat!("mlkem_", $name), include_str!(concat!("kernels/mlkem_", $name, ".cu")), vec![$($port),*])
            };
        }
        match self {
            Self::Seed => stage!("seed": seeds, out(rho), out(key_noise)),
            Self::Matrix { .. } => stage!("matrix": rho, out(matrix)),
            Self::Generate => stage!("generate": seeds, rho, matrix, key_noise, out(public_key), out(secret_key)),
            Self::Finish => stage!("finish": public_key, Port::in_out(sizes.secret_key).secret()),
            Self::Encapsulate => stage!("encapsulate": public_key, seed, out(seed), out(rho), out(noise)),
            Self::Encrypt => stage!("encrypt": public_key, seed, matrix, noise, out(ciphertext)),
            Self::Decrypt => stage!("decrypt": secret_key, ciphertext, out(seed)),
            Self::Decapsulate => stage!("decapsulate": secret_key, ciphertext, seed, out(seeds), out(rho), out(noise)),
            Self::Compare => stage!("compare": secret_key, ciphertext, seed, matrix, noise, seeds, out(seed)),
            Self::CheckPublic => stage!("check_public": public_key, status),
            Self::CheckSecret => stage!("check_secret": secret_key, status),
        }
    }
}

/// The same port, written.
fn out(port: Port) -> Port {
    Port { role: Role::Out, ..port }
}

/// A stage for one parameter set.
pub(crate) struct MlKemKernel {
    stage: Stage,
    name: &'static str,
    text: &'static str,
    scheme: Scheme,
    /// The rows that it works on, where it does.
    rows: Option<Rows>,
    /// The last one is that of the rows' table, where there are any.
    ports: Vec<Port>,
}

impl MlKemKernel {
    /// The kernel of a stage for devices with some limits.
    pub(crate) fn new(stage: Stage, parameters: &Parameters, limits: &Limits) -> Result<Self> {
        let rows = stage.is_on_rows().then(|| rows(limits)).transpose()?;
        let (name, text, mut ports) = stage.parts(parameters);
        ports.extend(rows.iter().map(Rows::table_port));
        Ok(Self { stage, name, text, scheme: Scheme::new(parameters)?, rows, ports })
    }

    /// The constants that the text names.
    fn set(&self) -> String {
        let Parameters { name, k, eta1, du, dv } = self.scheme.parameters;
        let numbers = format!("k = {k}, eta1 = {eta1}, du = {du}, dv = {dv}, hash_threads = {HASH_THREADS}");
        format!("// {name}\nstruct Set {{\n    static constexpr rf::u32 {numbers};\n}};\n")
    }

    /// The prelude and the launch of a kernel that hashes or samples, a thread an item.
    fn build_hash(&self) -> Built {
        let mut prelude = format!("#pragma once\n#include \"word.cuh\"\n{}", self.set());
        let mut launch = Launch::thread_per_item(HASH_THREADS);
        if let Stage::Matrix { transposed } = self.stage {
            prelude += &format!("struct Task {{\n    static constexpr bool transposed = {transposed};\n");
            prelude += &format!("    static constexpr rf::u32 threads = {SAMPLE_THREADS}, pitch = {PITCH};\n}};\n");
            launch.threads = SAMPLE_THREADS as u32;
            launch.items_per_block = (SAMPLE_THREADS / self.scheme.parameters.k.pow(2)) as u32;
            launch.shared_bytes = (SAMPLE_THREADS * PITCH) as u32;
        }
        Built { prelude, launch }
    }
}

impl Kernel for MlKemKernel {
    fn name(&self) -> &'static str {
        self.name
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, limits: &Limits) -> Result<Source> {
        let built = match &self.rows {
            Some(rows) => rows.build(limits, &self.set())?,
            None => self.build_hash(),
        };
        // SAFETY: a thread, or a block that `rows` made, works on the bytes of its own items, of the sizes that the set of
        // parameters gives to ports and prelude alike.
        Ok(unsafe { Source::new(self, self.text, HEADERS, built) })
    }

    fn table(&self, port: usize) -> Option<Table> {
        self.rows.as_ref().filter(|_| port + 1 == self.ports.len()).map(Rows::table)
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let scheme = &self.scheme;
        match self.stage {
            Stage::Seed => args.each(items, |_, item| scheme.seed(item)),
            Stage::Matrix { transposed } => args.each(items, |_, item| scheme.matrix(transposed, item)),
            Stage::Generate => args.each(items, |_, item| scheme.generate(item)),
            Stage::Finish => args.each(items, |_, item| scheme.finish(item)),
            Stage::Encapsulate => args.each(items, |_, item| scheme.encapsulate(item)),
            Stage::Encrypt => args.each(items, |_, item| scheme.encrypt(item)),
            Stage::Decrypt => args.each(items, |_, item| scheme.decrypt(item)),
            Stage::Decapsulate => args.each(items, |_, item| scheme.decapsulate(item)),
            Stage::Compare => args.each(items, |_, item| scheme.compare(item)),
            Stage::CheckPublic => args.each(items, |_, item| scheme.check_public(item)),
            Stage::CheckSecret => args.each(items, |_, item| scheme.check_secret(item)),
        }
    }

    fn describe(&self) -> String {
        self.scheme.parameters.name.into()
    }
}

impl fmt::Debug for MlKemKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {:?}, {:?}", self.stage, self.scheme.parameters, self.rows)
    }
}
