//! The kernel `draw`: random bytes for each item.

use crate::source::of_engine;
use core::ops::Range;
use zeroize::Zeroizing;

use ringforge_math::error::{Error, Result};
use ringforge_runtime::kernel::{Args, Built, Kernel, Launch, Port, Source};
use ringforge_runtime::limits::Limits;
use ringforge_runtime::random::RandomKey;

const THREADS: u32 = 128;

/// Writes random bytes for each item, from the counter-based generator [`RandomKey::block`]. The attempt number, one of
/// the inputs of the generator, is fixed.
///
/// Ports: [`RandomKey`] of this run (in, shared), bytes (out). Both are secret.
#[derive(Debug, Clone)]
pub struct RandomBlock {
    attempt: u32,
    ports: [Port; 2],
}

impl RandomBlock {
    /// `bytes` bytes per item, 32 or 64: the first bytes of [`RandomKey::block`] for this attempt.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for any other number of bytes.
    pub fn new(bytes: usize, attempt: u32) -> Result<Self> {
        if ![32, 64].contains(&bytes) {
            return Err(Error::Unsupported {
                job: format!("draw of {bytes} bytes"),
                why: "a draw must have 32 or 64 bytes".into(),
            });
        }
        Ok(Self { attempt, ports: [Port::random_key(), Port::output(bytes).secret()] })
    }
}

impl Kernel for RandomBlock {
    fn name(&self) -> &'static str {
        "random_block"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let prelude = format!(
            "#pragma once\n\
             struct Task {{\n\
             \x20   static constexpr rf::u32 threads = {THREADS}, words = {}, attempt = {};\n\
             }};\n",
            self.ports[1].bytes / 4,
            self.attempt,
        );
        let built = Built { prelude, launch: Launch::thread_per_item(THREADS) };
        Ok(of_engine(self, ringforge_kernels::RANDOM_BLOCK, built, Vec::new()))
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let random_key = RandomKey::from_bytes(args.input(0)?)?;
        let out = args.output::<u8>(1)?;
        for (item, out) in items.zip(out.chunks_exact_mut(self.ports[1].bytes)) {
            let block = Zeroizing::new(random_key.block(item as u64, self.attempt));
            out.copy_from_slice(&block[..out.len()]);
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("{} bytes, attempt {}", self.ports[1].bytes, self.attempt)
    }
}
