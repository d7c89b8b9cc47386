//! Sampling of small integers, each coefficient independently.

use core::ops::Range;
use std::sync::Arc;

use crate::kernels::sample::elements::{CELL, Elements};
use crate::kernels::sample::{Distribution, key};
use crate::source::of_engine;
use ringforge_math::error::Result;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;
use ringforge_runtime::random::RandomKey;

/// Independent small integers of a symmetric distribution: 128 random bits are compared with cumulative thresholds.
///
/// Random block `number` of an item serves the four coefficients from 4·`number` on, with 128 bits each.
///
/// Ports: keys (in), constants ([`Small::table`]), elements (out).
#[derive(Debug, Clone)]
pub(super) struct Small {
    distribution: Distribution,
    elements: Elements,
    thresholds: Vec<u128>,
    ports: [Port; 3],
}

impl Small {
    pub(super) fn new(poly: &PolyType, distribution: Distribution, thresholds: Vec<u128>, key: Port) -> Self {
        let ports = [key.secret(), Port::shared(0), Port::output(poly.bytes()).secret()];
        let mut kernel = Self { distribution, elements: Elements::new(poly), thresholds, ports };
        kernel.ports[1].bytes = kernel.constants().bytes();
        kernel
    }

    /// The table of constants: those of the moduli, then the thresholds.
    fn constants(&self) -> Table {
        let words = |threshold: &u128| [0, 32, 64, 96].map(|bit| (threshold >> bit) as u32);
        self.elements.table(&self.thresholds.iter().flat_map(words).collect::<Vec<_>>())
    }

    #[inline(never)] // so that the constant-time test finds this function by name in the machine code
    fn element(&self, random_key: &(RandomKey, u64), out: &mut [u8]) {
        let n = self.elements.poly().degree();
        key::for_blocks(&self.ports[0], random_key, 0..n.div_ceil(CELL), |number, block| {
            for (words, i) in block.as_chunks::<2>().0.iter().zip(number * CELL..n) {
                let bits = u128::from(words[1]) << 64 | u128::from(words[0]);
                let magnitude = self.thresholds.iter().map(|threshold| u64::from(bits >= *threshold)).sum();
                self.elements.put(i, magnitude, bits as u64 & 1, out);
            }
        });
    }
}

impl Kernel for Small {
    fn name(&self) -> &'static str {
        "sample_small"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let [key, _, out] = &self.ports;
        let poly = self.elements.poly();
        let lines = format!("    static constexpr bool seeds = {};\n", key::is_seeds(key));
        // shared memory per thread: 128 random bits, and the integer
        let built = self.elements.built(&lines, 16 + 4);
        let [stride, stream_id] = key::numbers(key);
        let own = [poly.basis().len(), out.stride() / poly.width().bytes()].map(|number| number as u64);
        let numbers = [own[0], own[1], stride, stream_id, self.thresholds.len() as u64].to_vec();
        Ok(of_engine(self, ringforge_kernels::SAMPLE_SMALL, built, numbers))
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        kernel.ports[0] = key::apart(kernel.ports[0], firsts[0], strides[0])?;
        kernel.elements = kernel.elements.apart(firsts[2], strides[2])?;
        kernel.ports[2].stride = Some(strides[2]);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == 1).then(|| self.constants())
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let (keys, out) = (args.input::<u8>(0)?, args.output::<u8>(2)?);
        let random_key = key::of_items(&self.ports[0], items, keys);
        for (random_key, out) in random_key.zip(out.chunks_exact_mut(self.elements.poly().bytes())) {
            self.element(&random_key?, out);
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("{}, {}", self.distribution, key::describe(&self.ports[0]))
    }
}
