//! Plonky3's hashes of rows and digests by Poseidon2, and their kernels.

use core::fmt;

use p3_poseidon2::ExternalLayerConstants;
use rayon::prelude::*;
use ringforge::kernels::{Args, Built, CustomKernel, Launch, Port, Table};
use ringforge::{Plan, Planner, Result};

use crate::field::{EngineField, elements, elements_mut};
use crate::hash::HashField;
use crate::layers::{Layers, SPAN};
use crate::layout::Layout;
use crate::merkle::{Digest, MerkleTree};
use crate::permutation::{HEADERS, Key, MOST, Permutation, Permutes};

/// Threads per block. Each thread computes one item.
const THREADS: u32 = 128;
/// Up to this many blocks climb with several threads for a node, in layers where a block has at most [`FEW`] nodes. More
/// blocks keep a GPU busy with one thread for each.
const FEW_BLOCKS: u32 = 512;
const FEW: usize = 64;

/// Witnesses of a proof of work that a thread tries.
pub(crate) const WITNESSES: usize = 4;

/// The words of an item's two inputs and of its output.
type Both<'a, F> = (&'a [Word<F>], &'a [Word<F>], &'a mut [Word<F>]);
type Word<F> = <F as EngineField>::Word;

/// Poseidon2 with the caller's round constants, in Plonky3's hash constructions. Rows are hashed by
/// [`PaddingFreeSponge`], whose rate is the size of a digest. Two or four digests are compressed by
/// [`TruncatedPermutation`].
///
/// [`PaddingFreeSponge`]: p3_symmetric::PaddingFreeSponge
/// [`TruncatedPermutation`]: p3_symmetric::TruncatedPermutation
#[derive(Clone)]
pub struct Poseidon2<F: HashField> {
    rows: Permutation<F>,
    permutation: F::Permutation,
    /// The permutation that compresses digests, if it differs from the one for rows.
    wide: Option<(Permutation<F>, F::Wide)>,
}

impl<F: HashField> Poseidon2<F> {
    /// Makes the hash from the external and internal round constants of Plonky3's permutation. The hash compresses two
    /// digests at a time.
    ///
    /// # Errors
    /// [`Error::Length`](ringforge::Error::Length) for fewer than three external rounds at either end.
    pub fn new<const WIDTH: usize>(external: &ExternalLayerConstants<F, WIDTH>, internal: &[F]) -> Result<Self>
    where
        F: Permutes<WIDTH, Permutation = <F as HashField>::Permutation>,
    {
        let (rows, permutation) = Permutation::new(external, internal)?;
        Ok(Self { rows, permutation, wide: None })
    }

    /// Returns a hash that compresses four digests at a time, by the permutation of twice the width with these round
    /// constants.
    ///
    /// # Errors
    /// The errors of [`Poseidon2::new`].
    pub fn of_arity_4<const WIDE: usize>(
        self,
        external: &ExternalLayerConstants<F, WIDE>,
        internal: &[F],
    ) -> Result<Self>
    where
        F: Permutes<WIDE, Permutation = F::Wide>,
    {
        Ok(Self { wide: Some(Permutation::new(external, internal)?), ..self })
    }

    /// Plonky3's permutation that hashes rows, with the round constants of this hash.
    #[must_use]
    pub fn permutation(&self) -> &F::Permutation {
        &self.permutation
    }

    /// Plonky3's permutation that compresses four digests, with the round constants of this hash; `None` for arity 2.
    #[must_use]
    pub fn wide_permutation(&self) -> Option<&F::Wide> {
        self.wide.as_ref().map(|(_, plonky3)| plonky3)
    }

    /// Number of digests that are compressed at a time: 2 or 4.
    #[must_use]
    pub fn arity(&self) -> usize {
        self.digests().width() / F::DIGEST
    }

    /// The permutation that compresses digests.
    fn digests(&self) -> &Permutation<F> {
        self.wide.as_ref().map_or(&self.rows, |(own, _)| own)
    }

    /// The cache key of the plans for rows, without the number of columns.
    pub(crate) fn key_of_rows(&self) -> Key {
        self.rows.key()
    }

    /// The cache key of the plans for digests, without the number of children per node.
    pub(crate) fn key_of_digests(&self) -> Key {
        self.digests().key()
    }

    /// Number of elements in a sponge's state.
    pub(crate) fn width(&self) -> usize {
        self.rows.width()
    }

    /// The plan that hashes rows of this many columns, at the port `rows`, to the port `digests`.
    pub(crate) fn rows(&self, planner: &Planner, columns: usize) -> Result<Plan> {
        let permutation = self.rows.clone();
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (row, digest): (&[F::Word], &mut [F::Word])| {
                let mut state = [F::ZERO; MOST];
                absorb::<F>(&permutation, &mut state, 0, true, elements(row).iter().copied());
                put(&state, digest);
                Ok(())
            })
        };
        let text = ("poseidon2_rows", include_str!("kernels/poseidon2_rows.cu"), HEADERS);
        let ports = [Port::input(columns * size_of::<F>()), Port::output(size_of::<F::Digest>())];
        // SAFETY: a thread reads the columns of its own row and all constants, and writes its own digest.
        #[allow(unsafe_code)]
        let kernel =
            unsafe { CustomKernel::new(text, ports, self.build(&self.rows), on_cpu).with_numbers([columns as u64]) };
        let title = format!("Poseidon2 of rows of {columns}");
        plan(planner, title, (&["rows"], "digests"), kernel, &self.rows)
    }

    /// The plan in which the sponges of all rows absorb columns, from the port `columns`; an item is a row. Unless
    /// these are the first columns, the plan resumes from the port `states`. Its output is the port `digests` or, if
    /// more columns follow, the states at the port `next`.
    pub(crate) fn columns(&self, planner: &Planner, part: Columns) -> Result<Plan> {
        let Columns { height, count, layout, skipped, before, ends } = part;
        let [to_row, to_column] = layout.strides(count);
        let permutation = self.rows.clone();
        let squeeze = move |item: usize, columns: &[F::Word], mut state: [F; MOST], to: &mut [F::Word]| {
            let row = columns.iter().skip(item % height * to_row).step_by(to_column).take(count);
            let row = row.map(|word| elements::<F>(core::slice::from_ref(word))[0]);
            absorb::<F>(&permutation, &mut state, before.unwrap_or(0), ends, row);
            put(&state, to);
        };
        let all = Port::shared((layout.elements(height, count) - skipped) * size_of::<F>());
        let state = self.width() * size_of::<F>();
        let (to, stored) = if ends { ("digests", size_of::<F::Digest>()) } else { ("next", state) };
        let stored = Port::output(stored);
        let build = self.build(&self.rows);
        let title = format!("Poseidon2 of rows of {count} columns, {}", if ends { "to the end" } else { "of more" });
        let numbers = [height, to_row, to_column, count, ends.into()].map(|number| number as u64);
        let Some(before) = before else {
            let on_cpu = move |items, args: &mut Args<'_>| {
                args.each(items, |item, (columns, to): (&[F::Word], &mut [F::Word])| {
                    squeeze(item, columns, [F::ZERO; MOST], to);
                    Ok(())
                })
            };
            let text = ("poseidon2_columns", include_str!("kernels/poseidon2_columns.cu"), HEADERS);
            // SAFETY: a thread reads its own row of all columns and all constants, and writes its own state or digest.
            #[allow(unsafe_code)]
            let kernel = unsafe { CustomKernel::new(text, [all, stored], build, on_cpu).with_numbers(numbers) };
            return plan(planner, title, (&["columns"], to), kernel, &self.rows);
        };
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |item, (columns, before, to): Both<'_, F>| {
                let mut state = [F::ZERO; MOST];
                state[..before.len()].copy_from_slice(elements(before));
                squeeze(item, columns, state, to);
                Ok(())
            })
        };
        let text = ("poseidon2_resumed", include_str!("kernels/poseidon2_resumed.cu"), HEADERS);
        let ports = [all, Port::input(state), stored];
        let numbers = [&numbers[..], &[before as u64]].concat();
        // SAFETY: a thread reads its own row of all columns, all constants and its own state, and writes its own state
        // or digest.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu).with_numbers(numbers) };
        plan(planner, title, (&["columns", "states"], to), kernel, &self.rows)
    }

    /// The plan that compresses the `each` child digests of a node, at the port `children`, to the port `digests`.
    /// `each` is at most the arity.
    pub(crate) fn nodes(&self, planner: &Planner, each: usize) -> Result<Plan> {
        let permutation = self.digests().clone();
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (children, digest): (&[F::Word], &mut [F::Word])| {
                put(&combine(&permutation, elements(children)), digest);
                Ok(())
            })
        };
        let text = ("poseidon2_nodes", include_str!("kernels/poseidon2_nodes.cu"), HEADERS);
        let ports = [Port::input(each * size_of::<F::Digest>()), Port::output(size_of::<F::Digest>())];
        let build = self.build(self.digests());
        // SAFETY: a thread reads its own children and all constants, and writes its own digest.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu).with_numbers([each as u64]) };
        let title = format!("Poseidon2 of {each} digests");
        plan(planner, title, (&["children"], "digests"), kernel, self.digests())
    }

    /// The plan that compresses `count` digests, at the port `children`, layer by layer: `each` digests to one, and so on
    /// for this many layers. The layers are at the port `digests`, one after another. A layer must be whole nodes, and the
    /// digests of a node of the last one at most [`SPAN`].
    pub(crate) fn climbed(&self, planner: &Planner, each: usize, count: usize, layers: usize) -> Result<Plan> {
        let (permutation, digest) = (self.digests().clone(), F::DIGEST);
        let total = core::iter::successors(Some(count / each), |nodes| Some(nodes / each)).take(layers).sum::<usize>();
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (children, digests): (&[F::Word], &mut [F::Word])| {
                let mut below = elements::<F>(children).to_vec();
                let mut rest = digests;
                for _ in 0..layers {
                    let node = |children: &[F]| combine(&permutation, children)[..digest].to_vec();
                    ringforge_cpu::threads::start();
                    let above: Vec<F> = below.par_chunks(each * digest).flat_map_iter(node).collect();
                    let (layer, others) = rest.split_at_mut(above.len());
                    put(&above, layer);
                    (below, rest) = (above, others);
                }
                Ok(())
            })
        };
        let text = ("poseidon2_climbed", include_str!("kernels/poseidon2_climbed.cu"), HEADERS);
        let ports = [Port::input(count * size_of::<F::Digest>()), Port::output(total * size_of::<F::Digest>())];
        let subtree = each.pow(layers as u32);
        // as many subtrees as both a block and the layer have, a power of two
        let subtrees = 1 << (count / subtree).trailing_zeros().min((SPAN / subtree).max(1).ilog2());
        let span = subtree * subtrees;
        let blocks = (count / span) as u32;
        let build = self.build(self.digests());
        let build = move |limits: &ringforge::Limits| {
            let built = build(limits)?;
            Ok(Built { launch: Launch { items_per_block: 1, blocks_per_item: blocks, ..built.launch }, ..built })
        };
        let few = if blocks <= FEW_BLOCKS { FEW } else { 0 };
        let numbers = [each, count, layers, span, few].map(|number| number as u64);
        // SAFETY: a block reads its own children, the digests that it wrote before a barrier, and all constants. A thread
        // writes its own digests.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu).with_numbers(numbers) };
        let title = format!("Poseidon2 of {count} digests, {layers} layers");
        plan(planner, title, (&["children"], "digests"), kernel, self.digests())
    }

    /// The plan that compresses the `each` child digests of a node, at the port `children`, and then the result with
    /// the digest of the injected row, at the port `rows`. The output is the port `digests`.
    pub(crate) fn injected(&self, planner: &Planner, each: usize) -> Result<Plan> {
        let permutation = self.digests().clone();
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |_, (children, row, digest): Both<'_, F>| {
                let above = combine(&permutation, elements(children));
                put(&combine(&permutation, &[&above[..F::DIGEST], elements(row)].concat()), digest);
                Ok(())
            })
        };
        let text = ("poseidon2_injected", include_str!("kernels/poseidon2_injected.cu"), HEADERS);
        let digest = size_of::<F::Digest>();
        let ports = [Port::input(each * digest), Port::input(digest), Port::output(digest)];
        let build = self.build(self.digests());
        // SAFETY: a thread reads its own children, its own row's digest and all constants, and writes its own digest.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu).with_numbers([each as u64]) };
        let title = format!("Poseidon2 of {each} digests and rows");
        plan(planner, title, (&["children", "rows"], "digests"), kernel, self.digests())
    }

    /// The plan that tries witnesses of a proof of work, [`WITNESSES`] for each item. The port `state` is the sponge's
    /// state, and `search` has three words: the first witness, its place in the state, and the bits of the permuted
    /// state's last word of the rate that must be 0. The port `found` is the number of the item's first witness that
    /// works, or 2^32 − 1.
    pub(crate) fn ground(&self, planner: &Planner) -> Result<Plan> {
        let permutation = self.rows.clone();
        let on_cpu = move |items, args: &mut Args<'_>| {
            args.each(items, |item, (state, search, found): (&[F::Word], &[u64; 3], &mut u32)| {
                let [begin, place, bits] = *search;
                let works = |number: &u32| {
                    let mut state = elements::<F>(state).to_vec();
                    state[place as usize] = F::from_u64(begin + item as u64 * WITNESSES as u64 + u64::from(*number));
                    permutation.permute(&mut state);
                    state[F::DIGEST - 1].as_canonical_u64() & bits == 0
                };
                *found = (0..WITNESSES as u32).find(works).unwrap_or(u32::MAX);
                Ok(())
            })
        };
        let text = ("poseidon2_ground", include_str!("kernels/poseidon2_ground.cu"), HEADERS);
        let state = Port::shared(self.width() * size_of::<F>());
        let ports = [state, Port::shared(3 * size_of::<u64>()), Port::output(size_of::<u32>())];
        let build = self.build(&self.rows);
        // SAFETY: a thread reads the state, the search and all constants, and writes its own number.
        #[allow(unsafe_code)]
        let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu).with_numbers([WITNESSES as u64]) };
        let title = "proof of work by Poseidon2".into();
        plan(planner, title, (&["state", "search"], "found"), kernel, &self.rows)
    }

    /// The tree over rows of this many columns, made on this thread.
    ///
    /// # Errors
    /// As [`Layers::new`].
    pub(crate) fn tree(&self, rows: &[F], columns: usize) -> Result<MerkleTree<F>> {
        let layers = Layers::new(core::iter::once(rows.len() / columns), self.arity())?;
        let leaf = |row: &[F]| {
            let mut state = [F::ZERO; MOST];
            absorb::<F>(&self.rows, &mut state, 0, true, row.iter().copied());
            digest::<F>(&state)
        };
        let node = |children: &[Digest<F>]| {
            let children: Vec<F> = children.iter().flat_map(AsRef::as_ref).copied().collect();
            digest::<F>(&combine(self.digests(), &children))
        };
        let mut digests: Vec<Vec<_>> = vec![rows.chunks_exact(columns).map(leaf).collect()];
        for (layer, step) in layers.steps().iter().enumerate() {
            digests[layer].resize(layers.count(layer), Digest::<F>::default());
            digests.push(digests[layer].chunks(step.children).take(step.nodes).map(node).collect());
        }
        Ok(MerkleTree::of_layers(digests, layers))
    }

    /// The CUDA source of the struct `Hash`, and the launch configuration.
    fn build(
        &self,
        permutation: &Permutation<F>,
    ) -> impl Fn(&ringforge::Limits) -> Result<Built> + Send + Sync + use<F> {
        let text = permutation.text(F::DIGEST, THREADS);
        move |_| Ok(Built::thread_per_item(THREADS).lines(&text))
    }
}

impl<F: HashField> fmt::Debug for Poseidon2<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rows by {:?}, digests by {:?}", self.rows, self.digests())
    }
}

fn plan<F: EngineField>(
    planner: &Planner,
    title: String,
    (inputs, output): (&[&str], &str),
    kernel: CustomKernel,
    permutation: &Permutation<F>,
) -> Result<Plan> {
    let p = planner.pipeline(title);
    let kernel = kernel.with_tables([Table::Bytes(permutation.constants())]);
    let inputs: Vec<_> = inputs.iter().map(|input| p.input(input)).collect();
    let about = format!("modulo {}, width {}", F::ORDER_U64, permutation.width());
    let [to] = p.step(kernel.described(about), &inputs);
    p.output(output, to);
    p.build()
}

/// Columns that the sponges absorb in one launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Columns {
    /// Number of rows.
    pub(crate) height: usize,
    pub(crate) count: usize,
    pub(crate) layout: Layout,
    /// Number of elements before those at the port `columns`, of rows that are not absorbed.
    pub(crate) skipped: usize,
    /// Number of elements from earlier columns in the current block of the sponges; `None` for the first columns.
    pub(crate) before: Option<usize>,
    /// True if these are the last columns.
    pub(crate) ends: bool,
}

/// Absorbs elements into a state like Plonky3's sponge without padding. The current block already has `filled`
/// elements. The state is permuted after each full block and, if `ends`, after a partial last block.
fn absorb<F: HashField>(
    permutation: &Permutation<F>,
    state: &mut [F; MOST],
    mut filled: usize,
    ends: bool,
    row: impl IntoIterator<Item = F>,
) {
    let state = &mut state[..permutation.width()];
    for element in row {
        state[filled] = element;
        filled += 1;
        if filled == F::DIGEST {
            permutation.permute(state);
            filled = 0;
        }
    }
    if ends && filled > 0 {
        permutation.permute(state);
    }
}

/// Returns the state after permuting these digests, padded with zeros to a whole state.
fn combine<F: EngineField>(permutation: &Permutation<F>, digests: &[F]) -> [F; MOST] {
    let mut state = [F::ZERO; MOST];
    state[..digests.len()].copy_from_slice(digests);
    permutation.permute(&mut state[..permutation.width()]);
    state
}

/// The first elements of a state.
fn digest<F: HashField>(state: &[F]) -> Digest<F> {
    let mut digest = Digest::<F>::default();
    digest.as_mut().copy_from_slice(&state[..F::DIGEST]);
    digest
}

/// Writes the first elements of a state as words below the modulus.
fn put<F: EngineField>(state: &[F], to: &mut [F::Word]) {
    elements_mut(to).iter_mut().zip(state).for_each(|(to, element)| *to = F::from_u64(element.as_canonical_u64()));
}
