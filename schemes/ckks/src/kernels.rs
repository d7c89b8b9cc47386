//! The kernels that encode and decode: ports, CUDA source and CPU reference.

use core::fmt::Display;
use std::sync::Arc;

use bytemuck::Pod;
use num_complex::Complex64;
use ringforge::kernels::{Args, Built, CustomKernel, Header, Launch, Port, Table};
use ringforge::words::product;
use ringforge::{Modulus, PolyType};
use zeroize::Zeroizing;

use crate::embedding::{Embedding, Reduction, centred, integer, times};

/// The status of an item whose integers are below the bound.
pub(crate) const OK: u32 = 1;
/// The status of an item of which an integer is too large, or not a number.
const TOO_LARGE: u32 = 2;
/// Threads per block of the kernels with one block per tile.
const TILE_THREADS: usize = 256;
/// Threads per block of the other kernels.
const THREADS: usize = 128;
/// Size in bytes of a complex number.
pub(crate) const COMPLEX: usize = size_of::<Complex64>();
/// Number of integers that a CPU reduces at once modulo one modulus after another.
const TOGETHER: usize = 256;

const HEADERS: &[Header] = &[Header { name: "ckks_embedding.cuh", text: include_str!("kernels/ckks_embedding.cuh") }];

/// Makes a kernel from its name, the [`Embedding`], its ports, launch, a line at the end of its prelude, and CPU
/// reference.
macro_rules! kernel {
    ($name:literal, $embedding:expr, $ports:expr, $launch:expr, $line:expr, $on_cpu:expr) => {{
        let (launch, line): (Launch, &'static str) = ($launch, $line);
        let (constants, about) = ($embedding.constants(&launch), format!("{} slots {line}", $embedding.count()));
        let build = move |_: &ringforge::Limits| {
            let constants = constants.each_ref().map(|(name, value)| (*name, value as &dyn Display));
            Ok(Built::new(launch).constants("Task", &constants).lines(line))
        };
        let source = include_str!(concat!("kernels/", $name, ".cu"));
        // SAFETY: a thread accesses only elements of its own item: at places below the number of slots, which launch,
        // constants and ports have in common, or named by the table of slots, a permutation of these places.
        #[allow(unsafe_code)]
        unsafe { CustomKernel::new(($name, source, HEADERS), $ports, build, $on_cpu) }.described(about.trim_end())
    }};
}

impl Embedding {
    /// Number of adjacent elements that a block transforms in shared memory. There are at most 16 tiles.
    fn tile(&self) -> usize {
        (self.count() / 16).max(2048).min(self.count())
    }

    fn constants(&self, launch: &Launch) -> [(&'static str, usize); 6] {
        let (slots, tile) = (self.count(), self.tile());
        [
            ("slots", slots),
            ("tile", tile),
            ("tiles", slots / tile),
            ("threads", launch.threads as usize),
            ("ok", OK as usize),
            ("too_large", TOO_LARGE as usize),
        ]
    }

    /// One block per tile.
    fn on_tiles(&self) -> Launch {
        Launch {
            items_per_block: 1,
            blocks_per_item: (self.count() / self.tile()) as u32,
            shared_bytes: (self.tile() * COMPLEX) as u32,
            ..Launch::thread_per_item(TILE_THREADS as u32)
        }
    }

    /// One thread per unit of work.
    fn on_units(units: usize) -> Launch {
        Launch {
            items_per_block: (THREADS / units).max(1) as u32,
            blocks_per_item: units.div_ceil(THREADS) as u32,
            ..Launch::thread_per_item(THREADS as u32)
        }
    }

    /// Elements, or numbers in slots.
    fn port(&self) -> Port {
        Port::input(self.count() * COMPLEX).secret()
    }

    fn root_table(&self) -> Table {
        table(&self.roots)
    }

    fn slot_table(&self) -> Table {
        table(&self.slots)
    }

    /// Numbers in slots → elements after the first layers, statuses.
    pub(crate) fn slots_to_tiles(self: &Arc<Self>) -> CustomKernel {
        let embedding = self.clone();
        let on_cpu = move |items, args: &mut Args<'_>| {
            type Ports<'a> = (&'a [Complex64], &'a mut [Complex64], &'a mut u32);
            args.each(items, |_, (numbers, tiles, status): Ports<'_>| {
                for (to, &slot) in tiles.iter_mut().zip(&embedding.slots) {
                    *to = numbers[slot as usize];
                }
                embedding.to_coefficients(1..embedding.tile(), tiles);
                *status = OK;
                Ok(())
            })
        };
        let ports = [self.port(), self.port().written(), Port::status()];
        kernel!("ckks_slots_to_tiles", self, ports, self.on_tiles(), "", on_cpu)
            .with_tables([self.root_table(), self.slot_table()])
    }

    /// Elements, scale, statuses → pairs of integers below `most` in absolute value, statuses.
    pub(crate) fn tiles_to_integers(self: &Arc<Self>, most: f64) -> CustomKernel {
        let embedding = self.clone();
        let on_cpu = move |items, args: &mut Args<'_>| {
            type Ports<'a> = (&'a [Complex64], &'a f64, &'a mut [Complex64], &'a mut u32);
            args.each(items, |_, (tiles, scale, integers, status): Ports<'_>| {
                integers.copy_from_slice(tiles);
                embedding.to_coefficients(embedding.tile()..embedding.count(), integers);
                let factor = scale / embedding.count() as f64;
                for (element, twist) in integers.iter_mut().zip(embedding.twists()) {
                    let z = times(*element, twist.conj());
                    let [re, im] = [z.re, z.im].map(|part| integer(part * factor, most));
                    if re.is_none() || im.is_none() {
                        *status = TOO_LARGE;
                    }
                    *element = Complex64::new(re.unwrap_or(0.0), im.unwrap_or(0.0));
                }
                Ok(())
            })
        };
        let ports = [self.port(), Port::shared(size_of::<f64>()), self.port().written(), Port::status().updated()];
        let kernel = kernel!("ckks_tiles_to_integers", self, ports, Self::on_units(self.tile()), "", on_cpu);
        // SAFETY: the kernel uses the bound for comparisons only.
        #[allow(unsafe_code)]
        unsafe {
            kernel.with_tables([self.root_table()]).with_numbers([most.to_bits()])
        }
    }

    /// Pairs of integers → coefficients of an element of `ring`.
    pub(crate) fn integers_to_residues(self: &Arc<Self>, ring: &PolyType) -> CustomKernel {
        let (moduli, bytes) = (Reduction::of(ring.basis()), ring.width().bytes());
        let (limbs, constants) = (moduli.len() as u64, table(&moduli));
        let on_cpu = move |items, args: &mut Args<'_>| match bytes {
            4 => args.each(items, |_, (integers, to): (&[Complex64], &mut [u32])| {
                residues(integers, &moduli, to, |residue| residue as u32);
                Ok(())
            }),
            _ => args.each(items, |_, (integers, to): (&[Complex64], &mut [u64])| {
                residues(integers, &moduli, to, |residue| residue);
                Ok(())
            }),
        };
        let ports = [self.port(), Port::output(ring.bytes()).secret()];
        let (launch, store) = (Self::on_units(self.count() / 2), store(bytes));
        let kernel = kernel!("ckks_integers_to_residues", self, ports, launch, store, on_cpu);
        // SAFETY: the table and the output have this many limbs.
        #[allow(unsafe_code)]
        unsafe {
            kernel.with_tables([constants]).with_numbers([limbs])
        }
    }

    /// A residue for each limb, in 64 bits → an element of `ring`, with this residue everywhere in the limb. The kernel
    /// provides the residues itself if they are given.
    pub(crate) fn constant(&self, ring: &PolyType, residues: Option<Vec<u64>>) -> CustomKernel {
        let (limbs, bytes, degree) = (ring.basis().len(), ring.width().bytes(), ring.degree());
        let on_cpu = move |items, args: &mut Args<'_>| match bytes {
            4 => args.each(items, |_, (residues, to): (&[u64], &mut [u32])| {
                residues.iter().zip(to.chunks_exact_mut(degree)).for_each(|(x, to)| to.fill(*x as u32));
                Ok(())
            }),
            _ => args.each(items, |_, (residues, to): (&[u64], &mut [u64])| {
                residues.iter().zip(to.chunks_exact_mut(degree)).for_each(|(x, to)| to.fill(*x));
                Ok(())
            }),
        };
        let ports = [Port::shared(limbs * size_of::<u64>()), Port::output(ring.bytes())];
        let ports = ports.map(|port| if residues.is_none() { port.secret() } else { port });
        let (launch, store) = (Self::on_units(limbs * degree), store(bytes));
        let kernel = kernel!("ckks_constant", self, ports, launch, store, on_cpu);
        // SAFETY: the input and the output have this many limbs.
        #[allow(unsafe_code)]
        let kernel = unsafe { kernel.with_numbers([limbs as u64]) };
        match residues {
            Some(residues) => kernel.with_table(0, table(&residues)),
            None => kernel,
        }
    }

    /// Integers in [0, Q) as words, for the product Q of the moduli, and scale → elements.
    pub(crate) fn integers_to_elements(self: &Arc<Self>, moduli: &[Modulus]) -> CustomKernel {
        let (embedding, q) = (self.clone(), product(moduli.iter().filter_map(Modulus::value_u64)));
        let half: Vec<u64> = (0..q.len()).map(|i| q[i] >> 1 | q.get(i + 1).unwrap_or(&0) << 63).collect();
        let (words, constants) = (q.len(), table(&[&q[..], &half].concat()));
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (integers, scale, elements): (&[u64], &f64, &mut [Complex64])| {
                let (re, im) = integers.split_at(integers.len() / 2);
                let parts = re.chunks_exact(words).zip(im.chunks_exact(words)).zip(embedding.twists());
                for (element, ((re, im), twist)) in elements.iter_mut().zip(parts) {
                    let z = Complex64::new(centred(re, &q, &half) / scale, centred(im, &q, &half) / scale);
                    *element = times(z, *twist);
                }
                Ok(())
            })
        };
        let integers = Port::input(2 * self.count() * words * size_of::<u64>()).secret();
        let ports = [integers, Port::shared(size_of::<f64>()), self.port().written()];
        let kernel = kernel!("ckks_integers_to_elements", self, ports, Self::on_units(self.count()), "", on_cpu);
        // SAFETY: an integer and the table's numbers have this many words.
        #[allow(unsafe_code)]
        unsafe {
            kernel.with_tables([self.root_table(), constants]).with_numbers([words as u64])
        }
    }

    /// Elements → elements after the first layers.
    pub(crate) fn elements_to_tiles(self: &Arc<Self>) -> CustomKernel {
        let embedding = self.clone();
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (elements, tiles): (&[Complex64], &mut [Complex64])| {
                tiles.copy_from_slice(elements);
                embedding.to_slots(embedding.tile()..embedding.count(), tiles);
                Ok(())
            })
        };
        let ports = [self.port(), self.port().written()];
        kernel!("ckks_elements_to_tiles", self, ports, Self::on_units(self.tile()), "", on_cpu)
            .with_tables([self.root_table()])
    }

    /// Elements after the first layers → numbers in slots.
    pub(crate) fn tiles_to_slots(self: &Arc<Self>) -> CustomKernel {
        let embedding = self.clone();
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (tiles, numbers): (&[Complex64], &mut [Complex64])| {
                // doubles, because complex numbers cannot be wiped
                let mut memory = Zeroizing::new(bytemuck::cast_slice::<Complex64, f64>(tiles).to_vec());
                let elements: &mut [Complex64] = bytemuck::cast_slice_mut(&mut memory);
                embedding.to_slots(1..embedding.tile(), elements);
                for (element, &slot) in elements.iter().zip(&embedding.slots) {
                    numbers[slot as usize] = *element;
                }
                Ok(())
            })
        };
        let ports = [self.port(), self.port().written()];
        kernel!("ckks_tiles_to_slots", self, ports, self.on_tiles(), "", on_cpu)
            .with_tables([self.root_table(), self.slot_table()])
    }
}

/// Writes the residues of pairs of integers: modulo each modulus those of all first integers, then those of all second
/// ones.
fn residues<T>(integers: &[Complex64], moduli: &[Reduction], to: &mut [T], narrow: impl Fn(u64) -> T) {
    let mut parts = Zeroizing::new([[0; TOGETHER]; 2]);
    for (chunk, pairs) in integers.chunks(TOGETHER).enumerate() {
        for (i, pair) in pairs.iter().enumerate() {
            (parts[0][i], parts[1][i]) = (pair.re as i128, pair.im as i128);
        }
        for (limb, modulus) in moduli.iter().enumerate() {
            for (half, part) in parts.iter().enumerate() {
                let to = &mut to[(2 * limb + half) * integers.len() + chunk * TOGETHER..];
                to.iter_mut().zip(&part[..pairs.len()]).for_each(|(to, &x)| *to = narrow(modulus.residue(x)));
            }
        }
    }
}

/// The line of a prelude that names the type of a residue.
fn store(bytes: usize) -> &'static str {
    if bytes == 4 { "using Store = rf::u32;" } else { "using Store = rf::u64;" }
}

fn table<T: Pod>(entries: &[T]) -> Table {
    Table::Bytes(bytemuck::cast_slice::<T, u8>(entries).into())
}
