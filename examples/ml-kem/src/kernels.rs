//! The kernels: what each stage reads and writes, and its text.

use core::fmt;
use core::ops::Range;
use std::sync::Arc;

use ringforge::{
    Args, Built, Error, Header, Kernel, Launch, Limits, Per, Port, Result, Role, Rows, Slot, Source, Step,
};
use ringforge_batch::{Reason, STATUS};

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

macro_rules! text {
    ($($stage:pat => $name:literal,)*) => {
        /// The name and the text.
        fn text(self) -> (&'static str, &'static str) {
            match self { $($stage => ($name, include_str!(concat!("kernels/", $name, ".cu"))),)* }
        }
    };
}

impl Stage {
    text! {
        Self::Seed => "mlkem_seed",
        Self::Matrix { .. } => "mlkem_matrix",
        Self::Generate => "mlkem_generate",
        Self::Finish => "mlkem_finish",
        Self::Encapsulate => "mlkem_encapsulate",
        Self::Encrypt => "mlkem_encrypt",
        Self::Decrypt => "mlkem_decrypt",
        Self::Decapsulate => "mlkem_decapsulate",
        Self::Compare => "mlkem_compare",
        Self::CheckPublic => "mlkem_check_public",
        Self::CheckSecret => "mlkem_check_secret",
    }

    fn is_on_rows(self) -> bool {
        matches!(self, Self::Generate | Self::Encrypt | Self::Decrypt | Self::Compare)
    }

    /// The ports, without that of the table of factors.
    fn ports(self, p: &Parameters) -> Vec<Port> {
        let (sizes, input, output) = (p.sizes(), Port::input, Port::output);
        let public_key = input(sizes.public_key);
        let secret_key = input(sizes.secret_key).secret();
        let ciphertext = input(sizes.ciphertext);
        let [seed, seeds] = [SEED, 2 * SEED].map(|bytes| input(bytes).secret());
        let [new_seed, new_seeds] = [SEED, 2 * SEED].map(|bytes| output(bytes).secret());
        let (rho, new_rho) = (input(SEED), output(SEED));
        let (matrix, status) = (input(p.matrix()), Port::status());
        let (noise, new_noise) = (input(p.noise()).secret(), output(p.noise()).secret());
        match self {
            Self::Seed => vec![seeds, new_rho, output(p.key_noise()).secret()],
            Self::Matrix { .. } => vec![rho, output(p.matrix())],
            Self::Generate => {
                let new_keys = [output(sizes.public_key), output(sizes.secret_key).secret()];
                [vec![seeds, rho, matrix, input(p.key_noise()).secret()], new_keys.to_vec()].concat()
            }
            Self::Finish => vec![public_key, Port::in_out(sizes.secret_key).secret()],
            Self::Encapsulate => vec![public_key, seed, new_seed, new_rho, new_noise],
            Self::Encrypt => vec![public_key, seed, matrix, noise, output(sizes.ciphertext)],
            Self::Decrypt => vec![secret_key, ciphertext, new_seed],
            Self::Decapsulate => vec![secret_key, ciphertext, seed, new_seeds, new_rho, new_noise],
            Self::Compare => vec![secret_key, ciphertext, seed, matrix, noise, seeds, new_seed],
            Self::CheckPublic => vec![public_key, status],
            Self::CheckSecret => vec![secret_key, status],
        }
    }
}

/// A stage for one parameter set.
pub(crate) struct MlKemKernel {
    stage: Stage,
    scheme: Scheme,
    /// The rows that it works on, where it does.
    rows: Option<Rows>,
    ports: Vec<Port>,
}

impl MlKemKernel {
    /// The step of a stage with these slots, to which that of the table is added where the kernel has one.
    pub(crate) fn step(stage: Stage, scheme: &Scheme, limits: &Limits, mut slots: Vec<Slot>) -> Result<Step> {
        let rows = stage.is_on_rows().then(|| rows(limits)).transpose()?;
        let mut ports = stage.ports(&scheme.parameters);
        ports.extend(rows.iter().map(Rows::table_port));
        slots.extend(rows.iter().map(Rows::table_slot));
        Ok(Step { kernel: Arc::new(Self { stage, scheme: scheme.clone(), rows, ports }), slots })
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
        self.stage.text().0
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
        Ok(unsafe { Source::new(self, self.stage.text().1, HEADERS, built) })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for (i, port) in self.ports.iter().enumerate().filter(|(_, port)| port.per == Per::Item) {
            match port.role {
                Role::In => reads.push(args.input::<u8>(i)?.chunks_exact(port.bytes)),
                Role::Out | Role::InOut => writes.push(args.output::<u8>(i)?.chunks_exact_mut(port.bytes)),
            }
        }
        for _ in items {
            let read: Vec<&[u8]> = reads.iter_mut().filter_map(Iterator::next).collect();
            let mut written: Vec<&mut [u8]> = writes.iter_mut().filter_map(Iterator::next).collect();
            self.on_item(&read, &mut written)?;
        }
        Ok(())
    }

    fn describe(&self) -> String {
        self.scheme.parameters.name.into()
    }
}

impl MlKemKernel {
    fn on_item(&self, read: &[&[u8]], written: &mut [&mut [u8]]) -> Result<()> {
        let scheme = &self.scheme;
        match (self.stage, read, written) {
            (Stage::Seed, [seeds], [rho, noise]) => scheme.seed(seeds, rho, noise),
            (Stage::Matrix { transposed }, [rho], [matrix]) => scheme.matrix(rho, transposed, matrix),
            (Stage::Generate, [seeds, rho, matrix, noise], [public_key, secret_key]) => {
                scheme.generate([seeds, rho, matrix, noise], public_key, secret_key)?;
            }
            (Stage::Finish, [public_key], [secret_key]) => scheme.finish(public_key, secret_key),
            (Stage::Encapsulate, [public_key, message], [shared_key, rho, noise]) => {
                scheme.encapsulate(public_key, message, [shared_key, rho, noise]);
            }
            (Stage::Encrypt, [public_key, message, matrix, noise], [ciphertext]) => {
                scheme.encrypt([public_key, message, matrix, noise], ciphertext)?;
            }
            (Stage::Decrypt, [secret_key, ciphertext], [message]) => scheme.decrypt(secret_key, ciphertext, message)?,
            (Stage::Decapsulate, [secret_key, ciphertext, message], [keys, rho, noise]) => {
                scheme.decapsulate([secret_key, ciphertext, message], [keys, rho, noise]);
            }
            (Stage::Compare, [secret_key, ciphertext, message, matrix, noise, keys], [shared_key]) => {
                scheme.compare([secret_key, ciphertext, message, matrix, noise, keys], shared_key)?;
            }
            (Stage::CheckPublic, [public_key], [status]) => {
                let bad = scheme.bad_value(public_key).map(|coefficient| Reason::InvalidPublicKey { coefficient });
                status.copy_from_slice(&Reason::status(bad).to_ne_bytes());
            }
            (Stage::CheckSecret, [secret_key], [status]) => {
                let bad = (!scheme.is_whole(secret_key)).then_some(Reason::WrongHash);
                status.copy_from_slice(&Reason::status(bad).to_ne_bytes());
            }
            _ => return Err(Error::Kernel { kernel: self.name().into(), why: "the ports do not fit".into() }),
        }
        Ok(())
    }
}

impl fmt::Debug for MlKemKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, {:?}, {:?}", self.stage, self.scheme.parameters, self.rows)
    }
}
