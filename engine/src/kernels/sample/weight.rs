//! Elements with a fixed number of coefficients 1 or −1 and all others 0. The first step samples positions and signs,
//! the second step writes elements.

use core::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::kernels::crt::mul_hi;
use crate::kernels::sample::elements::Elements;
use crate::kernels::sample::key;
use crate::source::of_engine;
use ringforge_math::error::Result;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Built, Kernel, Launch, Port, Source, Table};
use ringforge_runtime::limits::Limits;
use ringforge_runtime::random::RandomKey;

/// The two steps in order; the second step reads the output of the first one.
pub(super) fn steps(poly: &PolyType, weight: usize, key: Port) -> [Arc<dyn Kernel>; 2] {
    let n = poly.degree();
    let of_zeros = weight > n / 2;
    let set = Set { n, count: if of_zeros { n - weight } else { weight } };
    let places = Places { set, ports: [key.secret(), Port::output(set.bytes()).secret()] };
    let elements = Elements::new(poly);
    let constants = Port::shared(elements.table(&[]).bytes());
    let ports = [Port::input(set.bytes()).secret(), constants, Port::output(poly.bytes()).secret()];
    [Arc::new(places), Arc::new(Weight { set, of_zeros, elements, ports })]
}

/// A subset of `count` of n positions, and a random bit for each of the n positions.
#[derive(Debug, Clone, Copy)]
struct Set {
    n: usize,
    count: usize,
}

impl Set {
    /// Number of random blocks for the positions, four positions per block.
    fn groups(self) -> usize {
        self.count.div_ceil(4)
    }

    /// Number of random blocks for the n random bits, 512 bits per block.
    fn bit_blocks(self) -> usize {
        self.n.div_ceil(512)
    }

    /// Size in bytes: the positions as words, padded with all-ones words to a multiple of four; then the bits, 32 per
    /// word.
    fn bytes(self) -> usize {
        size_of::<u32>() * (4 * self.groups() + 16 * self.bit_blocks())
    }
}

/// Returns 1 if `place` is one of `places`, else 0. All entries of `places` are compared, so the time does not depend
/// on their values.
fn is_in(places: &[u32], place: u32) -> u32 {
    places.iter().fold(0, |found, other| found | u32::from(*other == place))
}

/// A nearly uniform number below `bound`: ⌊bits·bound / 2^128⌋ for 128 random bits.
fn below(bits: u128, bound: u64) -> u64 {
    let carry = mul_hi(bits as u64, bound);
    (((bits >> 64) * u128::from(bound) + u128::from(carry)) >> 64) as u64
}

/// Samples a [`Set`] by Floyd's method, in the constant-time form of Sendrier.
///
/// Ports: keys (in), sets (out).
#[derive(Debug, Clone)]
struct Places {
    set: Set,
    ports: [Port; 2],
}

impl Places {
    #[inline(never)] // so that the constant-time test finds this function by name in the machine code
    fn draw(&self, random_key: &(RandomKey, u64), set: &mut [u32]) {
        let Set { n, count } = self.set;
        let (groups, key) = (self.set.groups(), &self.ports[0]);
        let (places, bits) = set.split_at_mut(4 * groups);
        key::for_blocks(key, random_key, 0..groups, |number, block| {
            let places = places.iter_mut().zip(0..).skip(4 * number);
            for ((place, i), words) in places.zip(block.as_chunks::<2>().0) {
                let drawn = || i as u64 + below(u128::from(words[1]) << 64 | u128::from(words[0]), (n - i) as u64);
                *place = if i < count { drawn() as u32 } else { u32::MAX };
            }
        });
        key::for_blocks(key, random_key, groups..groups + bits.len() / 16, |number, block| {
            bits[16 * (number - groups)..][..16].copy_from_slice(bytemuck::cast_slice(block));
        });
        // Floyd's method in Sendrier's form: a position that the set already has is replaced by i
        for i in (0..count).rev() {
            let taken = is_in(&places[i + 1..], places[i]);
            places[i] ^= (places[i] ^ i as u32) & taken.wrapping_neg();
        }
    }
}

impl Kernel for Places {
    fn name(&self) -> &'static str {
        "sample_places"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let key = &self.ports[0];
        let threads = (self.set.groups() + self.set.bit_blocks()).next_multiple_of(32).min(1024);
        let prelude = format!(
            "#pragma once\n\
             #include \"word.cuh\"\n\
             struct Sample {{\n\
             \x20   static constexpr rf::u32 n = {}, threads = {threads};\n\
             \x20   static constexpr bool seeds = {};\n\
             }};\n",
            self.set.n,
            key::is_seeds(key),
        );
        // one word of shared memory per warp
        let launch = Launch {
            items_per_block: 1,
            shared_bytes: (threads / 32 * size_of::<u32>()) as u32,
            ..Launch::thread_per_item(threads as u32)
        };
        let [stride, stream_id] = key::numbers(key);
        let numbers = vec![stride, stream_id, self.set.count as u64];
        Ok(of_engine(self, ringforge_kernels::SAMPLE_PLACES, Built { prelude, launch }, numbers))
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let [key, places] = self.ports;
        let key = key::apart(key, firsts[0], strides[0])?;
        (strides[1] == places.bytes).then(|| Arc::new(Self { ports: [key, places], ..*self }) as Arc<dyn Kernel>)
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let (keys, sets) = (args.input::<u8>(0)?, args.output::<u32>(1)?);
        let random_key = key::of_items(&self.ports[0], items, keys);
        for (random_key, set) in random_key.zip(sets.chunks_exact_mut(self.ports[1].bytes / size_of::<u32>())) {
            self.draw(&random_key?, set);
        }
        Ok(())
    }

    fn describe(&self) -> String {
        format!("{} places of {}, {}", self.set.count, self.set.n, key::describe(&self.ports[0]))
    }
}

/// Writes ring elements for sampled sets.
///
/// Ports: sets (in), constants ([`Elements::table`]), elements (out).
#[derive(Debug, Clone)]
struct Weight {
    set: Set,
    /// Whether the coefficients at the set's positions are 0 and all others ±1, instead of the reverse.
    of_zeros: bool,
    elements: Elements,
    ports: [Port; 3],
}

impl Weight {
    /// The magnitude of coefficient i, which is 0 or 1.
    #[inline(never)] // so that the constant-time test finds this function by name in the machine code
    fn magnitude(&self, places: &[u32], i: usize) -> u8 {
        is_in(places, i as u32) as u8 ^ u8::from(self.of_zeros)
    }

    /// Stores an element with these magnitudes and signs.
    #[inline(never)] // so that the constant-time test finds this function by name in the machine code
    fn store(&self, magnitudes: &[u8], signs: &[u32], out: &mut [u8]) {
        for (magnitude, i) in magnitudes.iter().zip(0..) {
            self.elements.put(i, u64::from(*magnitude), u64::from(signs[i / 32] >> (i % 32) & 1), out);
        }
    }
}

impl Kernel for Weight {
    fn name(&self) -> &'static str {
        "sample_weight"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let poly = self.elements.poly();
        let stride = self.ports[2].stride() / poly.width().bytes();
        let numbers = [poly.basis().len(), stride, self.set.count, usize::from(self.of_zeros)];
        let numbers = numbers.map(|number| number as u64).to_vec();
        let built = self.elements.built("", size_of::<u32>());
        Ok(of_engine(self, ringforge_kernels::SAMPLE_WEIGHT, built, numbers))
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        kernel.elements = kernel.elements.apart(firsts[2], strides[2])?;
        kernel.ports[2].stride = Some(strides[2]);
        (strides[0] == kernel.ports[0].bytes).then(|| Arc::new(kernel) as Arc<dyn Kernel>)
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == 1).then(|| self.elements.table(&[]))
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        args.each(items, |_, (set, _, out): (&[u32], &[u8], &mut [u8])| {
            let (places, signs) = set.split_at(4 * self.set.groups());
            ringforge_cpu::threads::start();
            let all = (0..self.set.n).into_par_iter();
            let magnitudes: Zeroizing<Vec<u8>> = Zeroizing::new(all.map(|i| self.magnitude(places, i)).collect());
            self.store(&magnitudes, signs, out);
            Ok(())
        })
    }

    fn describe(&self) -> String {
        let which = if self.of_zeros { "0" } else { "±1" };
        format!("{which} at {} places", self.set.count)
    }
}

#[cfg(test)]
mod tests {
    use crate::U256;

    use super::*;

    /// The carry from the low word of the bits counts, too: with a bound of 3 it can make the difference between 0 and 1.
    #[test]
    fn numbers_below_a_bound_are_exact_quotients() {
        let words = [0, 1, 2, 0x5555_5555_5555_5555, 1 << 63, u64::MAX - 1, u64::MAX];
        for bound in [1, 2, 3, 1 << 63, u64::MAX] {
            for (high, low) in words.into_iter().flat_map(|high| words.map(|low| (high, low))) {
                let bits = u128::from(high) << 64 | u128::from(low);
                let product = U256::from(bits).wrapping_mul(&U256::from(bound));
                assert_eq!(below(bits, bound), product.to_words()[2], "{bits:x} of {bound}");
            }
        }
        assert_eq!(
            (below(0x5555_5555_5555_5555 << 64, 3), below((0x5555_5555_5555_5555 << 64) + (1 << 63), 3)),
            (0, 1)
        );
    }
}
