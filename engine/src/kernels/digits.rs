//! The kernel `digits`: gadget decomposition of residues into signed digits to a base 2^w.

use core::ops::Range;
use std::sync::Arc;

use crypto_bigint::U256;
use ringforge_cpu::choice::mask;

use crate::kernels::crt::{Divisor, Stored, store_type, with_stored};
use crate::kernels::spread;
use crate::kernels::target::{Row, Target, for_row};
use crate::layout::lanes;
use crate::source::of_engine;
use ringforge_math::error::{Error, Result};
use ringforge_math::modulus::{Modulus, Width, low_u64};
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Built, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// Threads per block.
const THREADS: usize = 256;

/// Signed digit decomposition of each limb separately: x in (−q/2, q/2] is Σ d_i·2^(w i).
///
/// Each d_i is in [−2^(w−1), 2^(w−1)), except for the last digit, which takes the remainder. Every digit is stored
/// modulo every modulus of the target ring: limb by limb, then digit by digit, then modulus by modulus.
///
/// If c digits of w bits cover the bits of q, then |x| ≤ 2^(w c − 1), so the last digit is at most 2^(w−1).
///
/// Ports: elements (in), constants ([`Kernel::table`]), digits (out).
#[derive(Debug, Clone)]
struct Digits<T: Row> {
    from: PolyType,
    /// The digit width w, and the number of digits per limb.
    bits: u32,
    count: usize,
    sources: Vec<FromLimb>,
    targets: Vec<ToLimb<T>>,
    /// Number of adjacent residues per thread.
    lanes: usize,
    ports: [Port; 3],
}

/// A modulus of the elements that are decomposed.
#[derive(Debug, Clone)]
struct FromLimb {
    q: Divisor,
    /// 1/R mod q, where R is the Montgomery factor of the ring's form.
    factor: u64,
}

/// A modulus of the digits. The digit d is stored as (d + 2^63)·R − 2^63·R, where d + 2^63 is an unsigned word and R is
/// the Montgomery factor of the target ring.
#[derive(Debug, Clone)]
struct ToLimb<T: Row> {
    q: T::Target,
    factor: <T::Target as Target>::Factor,
    offset: <T::Target as Target>::Residue,
}

/// The kernel for digits of `bits` bits, and the number of digits per limb.
///
/// # Errors
/// [`Error::Unsupported`] for digits of 0 bits or of more than 63, and for source moduli of more than 64 bits. Also for
/// target moduli of different bit lengths if one of them is above 64 bits.
pub(crate) fn digits(from: &PolyType, bits: u32, to: &PolyType) -> Result<(Arc<dyn Kernel>, usize)> {
    let refuse = |poly: &PolyType, why: &str| Err(Error::unsupported(format!("digits of {bits} bits"), poly, why));
    if !(1..=63).contains(&bits) {
        return refuse(from, "digits must have 1 to 63 bits");
    }
    if from.width() == Width::W256 {
        return refuse(from, "its moduli must have at most 64 bits");
    }
    let lengths: Vec<u32> = to.basis().iter().map(Modulus::bits).collect();
    if to.width() == Width::W256 && lengths.iter().any(|other| *other != lengths[0]) {
        return refuse(to, "moduli stored in 256 bits must all have the same bit length");
    }
    let longest = from.basis().iter().map(Modulus::bits).max().unwrap_or(0);
    let count = longest.div_ceil(bits) as usize;
    let kernel: Arc<dyn Kernel> = for_row!(to, S => Arc::new(Digits::<S>::new(from, bits, count, to)));
    Ok((kernel, count))
}

impl FromLimb {
    fn new(poly: &PolyType, q: &Modulus) -> Self {
        // R is invertible modulo q: it is a power of two for odd q, and 1 for even q
        let factor = q.inverse(&poly.radix(q)).unwrap_or(U256::ONE);
        Self { q: Divisor::new(low_u64(&q.value())), factor: low_u64(&factor) }
    }

    /// The integer in (−q/2, q/2] that a stored word represents.
    fn centred(&self, word: u64) -> i64 {
        let (x, q) = (self.q.mul(word, self.factor), self.q.d >> self.q.shift);
        x.wrapping_sub(q & mask(x > q / 2)) as i64
    }

    fn words(&self) -> [u64; 4] {
        let Divisor { d, reciprocal, shift } = self.q;
        [d, reciprocal, u64::from(shift), self.factor]
    }
}

impl<T: Row> ToLimb<T> {
    fn new(poly: &PolyType, q: &Modulus) -> Self {
        let radix = poly.radix(q);
        let offset = q.mul(&radix, &q.reduce_i64(i64::MIN));
        let (factor, offset) = (T::Target::factor(q, &radix), T::Target::residue(&offset));
        Self { q: T::Target::new(q), factor, offset }
    }

    fn put(&self, digit: i64) -> T {
        let word = T::Target::residue(&U256::from(digit as u64 ^ 1 << 63));
        T::put(self.q.add(self.q.mul_any(word, &self.factor), self.offset))
    }

    fn words(&self) -> Vec<u64> {
        let mut words = self.q.words();
        words.extend_from_slice(bytemuck::cast_slice(&[self.factor]));
        words.extend_from_slice(bytemuck::cast_slice(&[self.offset]));
        words
    }
}

impl<T: Row> Digits<T> {
    fn new(from: &PolyType, bits: u32, count: usize, to: &PolyType) -> Self {
        let sources: Vec<FromLimb> = from.basis().iter().map(|q| FromLimb::new(from, q)).collect();
        let targets: Vec<ToLimb<T>> = to.basis().iter().map(|q| ToLimb::new(to, q)).collect();
        let out = Port::output(sources.len() * count * to.bytes());
        let ports = [Port::input(from.bytes()), Port::shared(0), out];
        let lanes = lanes(from.degree(), to);
        let mut kernel = Self { from: from.clone(), bits, count, sources, targets, lanes, ports };
        kernel.ports[1].bytes = kernel.constants().bytes();
        kernel
    }

    /// The constants for the second port: the words of every source modulus, then those of every target modulus.
    fn constants(&self) -> Table {
        let targets = self.targets.iter().flat_map(ToLimb::words);
        let words: Vec<u64> = self.sources.iter().flat_map(FromLimb::words).chain(targets).collect();
        Table::Bytes(Arc::from(bytemuck::cast_slice::<u64, u8>(&words)))
    }

    /// Returns a function that extracts digit i of a number.
    fn digit(&self, i: usize) -> impl Fn(i64) -> i64 {
        // adds 2^(w−1) at each lower digit, so that the shift carries wherever a lower digit is negative
        let below = self.bits * i as u32;
        let half = (1..=i as u32).map(|place| 1i128 << (self.bits * place - 1)).sum::<i128>();
        let above = if i + 1 < self.count { i64::BITS - self.bits } else { 0 };
        move |x| (((i128::from(x) + half) >> below) as i64) << above >> above
    }

    #[inline(never)] // so that the constant-time test finds this function by name in the machine code
    fn row<S: Stored>(&self, from: &[S], (limb, i, target): (usize, usize, usize), out: &mut [T]) {
        let (limb, digit, target) = (&self.sources[limb], self.digit(i), &self.targets[target]);
        out.iter_mut().zip(from).for_each(|(out, x)| *out = target.put(digit(limb.centred(x.get()))));
    }
}

impl<T: Row> Kernel for Digits<T> {
    fn name(&self) -> &'static str {
        "digits"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, _: &Limits) -> Result<Source> {
        let units = self.sources.len() * self.count * (self.from.degree() / self.lanes);
        let prelude = format!(
            "#pragma once\n#include \"elementwise.cuh\"\nstruct Digits {{\n\
             \x20   using From = {};\n\
             \x20   using To = {};\n\
             \x20   using Q = {};\n\
             \x20   static constexpr rf::u32 n = {}, lanes = {}, threads = {THREADS};\n}};\n",
            store_type(self.from.width()),
            T::NAME,
            self.targets[0].q.type_name(),
            self.from.degree(),
            self.lanes,
        );
        let built = Built { prelude, launch: spread::launch(units, THREADS)? };
        let [from, _, to] = &self.ports;
        let strides = [from.stride() / self.from.width().bytes(), to.stride() / size_of::<T>()];
        let lengths = [self.targets.len(), self.count, self.bits as usize];
        let numbers = [&[units], &strides[..], &lengths].concat().into_iter().map(|number| number as u64).collect();
        Ok(of_engine(self, ringforge_kernels::DIGITS, built, numbers))
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = self.clone();
        for (port, bytes) in [(0, self.from.width().bytes()), (2, size_of::<T>())] {
            let place = firsts[port] | strides[port];
            kernel.ports[port].stride = Some(place.is_multiple_of(bytes).then_some(strides[port])?);
            // vectors must be aligned to their length
            kernel.lanes = kernel.lanes.min(lanes(place / bytes, &self.from));
        }
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        (port == 1).then(|| self.constants())
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        with_stored!(self, self.from.width(), S => {
            let (n, from, to) = (self.from.degree(), args.input::<S>(0)?, args.output::<T>(2)?);
            let (limbs, targets) = (self.sources.len(), self.targets.len());
            ringforge_cpu::threads::rows(to, n, &|row, out| {
                let (limb, i, target) = (row / targets / self.count, row / targets % self.count, row % targets);
                self.row(&from[limb * n..][..n], (limb % limbs, i, target), out);
            });
            Ok(())
        })
    }

    fn describe(&self) -> String {
        let (limbs, targets) = (self.sources.len(), self.targets.len());
        format!("{limbs} limbs in {} digits of {} bits, modulo {targets}", self.count, self.bits)
    }
}
