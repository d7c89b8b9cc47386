//! CPU reference of the kernels that work on whole residue polynomials of ring elements.

use core::iter;
use core::marker::PhantomData;
use core::ops::Range;
use std::borrow::Cow;

use bytemuck::{Pod, cast_slice, cast_slice_mut, pod_read_unaligned};

use crate::base::{products, restored_products};
use crate::field::{Field, Store, one};
use crate::fill::factors;
use crate::layout::{Layout, header_of};
use crate::order::Reorder;
use crate::shape::Shape;
use crate::threads::{self, TASK_BYTES};
use crate::tree::{Origin, Tree};
use crate::wipe::Wiped;
use crate::{Modulus, Roots};

/// `TILE` is the number of evaluations that `inner_product` accumulates at a time. `MOST_PRODUCTS` is the maximum
/// number of products that are summed before a reduction.
const TILE: usize = 64;
const MOST_PRODUCTS: usize = 8;

/// Describes the rows of ring elements; a *row* is one residue polynomial (RNS limb). Row i has the modulus with index
/// `of_row[i % of_row.len()]`.
#[derive(Debug)]
pub struct ElementLayout<'a> {
    /// The factorisation of the ring, which is the same for all residue polynomials.
    pub shape: Shape<'a>,
    /// The layout of the twiddle tables.
    pub layout: &'a Layout,
    /// The distinct moduli, each with the source of its twiddle factors.
    pub moduli: Vec<(Modulus, Factors<'a>)>,
    /// For each residue polynomial (row) of an element, the index of its modulus.
    pub of_row: &'a [usize],
    /// True if inputs may be any words, which are reduced modulo q first.
    pub any_word: bool,
    /// True if reduced products of two words must be multiplied by F, the constant by which the reduction divides them.
    /// F is the last entry of the table's header.
    pub restore: bool,
    /// True if evaluations are in natural order, false if they are in digit-reversed order.
    pub natural: bool,
    /// The range of layers that the kernel computes, counted from the top. A kernel that computes the whole transform
    /// has all layers.
    pub part: Range<usize>,
}

/// The twiddle factors for one modulus.
#[derive(Debug)]
pub enum Factors<'a> {
    /// A twiddle table that already exists.
    Given {
        /// The [`HEADER`](crate::HEADER) twiddle factors of the header, which include the scale folded into the inverse
        /// transform.
        header: Cow<'a, [u8]>,
        /// The twiddle table, in the order of [`ElementLayout::layout`]. May be `None` for products of evaluations if
        /// leaves have degree 1.
        table: Option<&'a [u8]>,
    },
    /// Twiddle factors to be computed from these roots. The header in [`Roots`] includes the scale folded into the
    /// inverse transform.
    Made(Box<Roots>),
}

/// The layout of key-switching keys, which have more limbs than the elements that they multiply. The first
/// [`own`](Self::own) limbs of an element have the moduli of the key's first limbs. The remaining limbs of an element
/// have the moduli of the key's last limbs.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    /// Number of sets of keys. Each set gives one inner product per item.
    pub sets: usize,
    /// Number of keys in each set. Keys beyond the number of elements are not read.
    pub count: usize,
    /// Limbs in each key.
    pub limbs: usize,
    /// Number of leading limbs of an element that match the leading limbs of a key.
    pub own: usize,
    /// Number of limbs of an element. A term may be several elements, which are multiplied by the same key: then the sums
    /// of all sets for the first of them come first.
    pub period: usize,
}

/// Options of inner products.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "the bytes may be secret")]
pub struct Turn<'a> {
    /// The place in a row from which each residue of an element is read: the permutation of an automorphism.
    pub image: Option<&'a [u32]>,
    /// Further elements for each item, their number, and three stored residues for each limb of an element: a factor, a
    /// constant and 1. The first sums also get the limbs of one element each times these factors, and the very first sum
    /// the constants.
    pub plus: Option<(&'a [u8], usize, &'a [u8])>,
}

impl Turn<'_> {
    /// A part of the image of a limb.
    fn part<'w, S: Pod>(self, limb: &'w [S], part: Range<usize>, memory: &'w mut Wiped<S>) -> &'w [S] {
        let Some(places) = self.image else { return &limb[part] };
        memory.set(places[part].iter().map(|&place| limb[place as usize]));
        memory
    }
}

/// Operations of kernels on bytes that hold rows of residues; a row is one residue polynomial. The length of the bytes
/// gives the number of rows.
pub trait Kernels: Send + Sync {
    /// Transforms coefficients to evaluations in place, or computes the layers [`ElementLayout::part`] of that
    /// transform.
    fn forward(&self, data: &mut [u8]);

    /// Transforms evaluations to coefficients in place, or computes the layers [`ElementLayout::part`] of that
    /// transform.
    fn inverse(&self, data: &mut [u8]);

    /// Multiplies ring elements. Operands and product are coefficients.
    fn ring_mul(&self, operands: [&[u8]; 2], out: &mut [u8]);

    /// Multiplies elements in the NTT domain. With `add`, adds the products to `out` instead of overwriting it.
    fn point_mul(&self, operands: [&[u8]; 2], out: &mut [u8], add: bool);

    /// For each set of keys, writes a sum of `count` products to `out`, in the NTT domain: element j of an item times
    /// key j of the set. `row` returns the place of limb i of element j: the index of one of `values`, and the index of
    /// a row in its items. Leaves must have degree 1.
    fn inner_product(
        &self,
        values: [&[u8]; 2],
        row: &(dyn Fn(usize, usize) -> [usize; 2] + Sync),
        keys: (&[u8], Keys),
        count: usize,
        turn: Turn<'_>,
        out: &mut [u8],
    );
}

pub(crate) fn of<'a, F: Field, S: Store<F::Word>>(rows: ElementLayout<'a>) -> Box<dyn Kernels + 'a> {
    let (shape, layout) = (rows.shape, rows.layout);
    let places = (!layout.by_nodes(shape)).then(|| layout.places(shape));
    let tree = |(modulus, given): &(Modulus, Factors<'a>)| {
        let field = F::new(&modulus.q);
        let (header, table) = match given {
            Factors::Made(roots) => {
                let table = factors::<F>(modulus, roots, shape, layout);
                (header_of(&table), table.into())
            }
            Factors::Given { header, table } => {
                let table: &'a [F::Twiddle] = table.map_or(&[], cast_slice);
                let each = size_of::<F::Twiddle>();
                let header = core::array::from_fn(|i| pod_read_unaligned(&header[i * each..][..each]));
                let by_nodes = match &places {
                    Some(places) if !table.is_empty() => places.iter().map(|&place| table[place]).collect(),
                    _ => Cow::Borrowed(table),
                };
                (header, by_nodes)
            }
        };
        (one(&field, modulus), Tree { field, shape, layout, header, table })
    };
    let (ones, trees) = rows.moduli.iter().map(tree).unzip();
    Box::new(Trees::<F, S> { rows, ones, trees, stored: PhantomData })
}

/// Implements [`Kernels`] for residue polynomials stored as words of type `S`, with one transform per modulus.
struct Trees<'a, F: Field, S> {
    rows: ElementLayout<'a>,
    /// For each modulus, the precomputed multiplier 1.
    ones: Vec<F::Twiddle>,
    trees: Vec<Tree<'a, F>>,
    stored: PhantomData<S>,
}

impl<'a, F: Field, S: Store<F::Word>> Trees<'a, F, S> {
    /// Returns the modulus index of the residue polynomial with index `row`.
    fn modulus(&self, row: usize) -> usize {
        self.rows.of_row[row % self.rows.of_row.len()]
    }

    fn tree(&self, row: usize) -> &Tree<'a, F> {
        &self.trees[self.modulus(row)]
    }

    /// Returns true if the kernel's layers include the first one, so that its forward transform reads coefficients.
    fn is_first(&self) -> bool {
        self.rows.part.start == 0
    }

    /// Returns true if the kernel's layers include the last one, so that its forward transform writes evaluations.
    fn is_last(&self) -> bool {
        self.rows.part.end == self.rows.shape.layers.len()
    }

    /// Calls `run` for every residue polynomial, with its index, its residues, and scratch memory that later calls
    /// reuse. The residue polynomials of a single large element are spread over threads. Otherwise all calls run on the
    /// calling thread, because callers already spread elements over threads.
    fn each<M: Default + Send>(&self, data: &mut [S], run: impl Fn(usize, &mut [S], &mut M) + Sync) {
        let (n, count) = (self.rows.shape.n, self.rows.of_row.len());
        if count > 1 && data.len() == n * count && size_of_val(data) > TASK_BYTES {
            threads::rows(data, n, &|i, row| run(i, row, &mut M::default()));
        } else {
            let mut memory = M::default();
            data.chunks_exact_mut(n).enumerate().for_each(|(i, row)| run(i, row, &mut memory));
        }
    }

    /// Reduces the residue polynomial with index `row` modulo its q in place, if the ring accepts any words as input.
    fn reduce(&self, row: usize, words: &mut [S]) {
        if self.rows.any_word {
            let (field, one) = (self.tree(row).field, &self.ones[self.modulus(row)]);
            words.iter_mut().for_each(|x| *x = S::store(field.reduce_any(x.load(), one)));
        }
    }

    /// Returns the residue polynomial with index `row`, reduced modulo its q: `words` itself, or a reduced copy in
    /// `memory` if the ring accepts any words as input.
    fn reduced<'w>(&self, row: usize, words: &'w [S], memory: &'w mut Wiped<S>) -> &'w [S] {
        if !self.rows.any_word {
            return words;
        }
        memory.set(words.iter().copied());
        self.reduce(row, memory);
        memory
    }

    /// Copies residues from `from` to `to` and reduces them below 2q. Earlier layers may have left the residues lazy,
    /// below a multiple of q.
    fn load_between(&self, row: usize, from: &[S], to: &mut Wiped<F::Word>) {
        let (field, one) = (self.tree(row).field, &self.ones[self.modulus(row)]);
        to.set(from.iter().map(|x| field.mul(x.load(), one)));
    }

    /// For each modulus, returns the constants β of all leaves x^d − β, in the order of the evaluations. The lists are
    /// empty if leaves have degree 1.
    fn leaf_constants(&self) -> Vec<Cow<'_, [F::Twiddle]>> {
        let ordered = |tree: &'_ Tree<'a, F>| -> Vec<F::Twiddle> {
            let (order, constants) = (Reorder::to_tree(self.rows.shape), tree.leaf_constants());
            (0..constants.len()).map(|leaf| constants[order.place(leaf)]).collect()
        };
        let of = |tree| if self.rows.natural { ordered(tree).into() } else { Tree::leaf_constants(tree).into() };
        self.trees.iter().map(of).collect()
    }

    /// Multiplies evaluations. For each word of the product, below 2q, calls `put` with the element of `out` at the
    /// same index.
    fn multiply(&self, operands: [&[u8]; 2], out: &mut [S], put: impl Fn(&F, &mut S, F::Word) + Sync) {
        let (betas, n) = (self.leaf_constants(), self.rows.shape.n);
        let operands = operands.map(cast_slice::<_, S>);
        self.each(out, |i, row, [a, b]: &mut [Wiped<S>; 2]| {
            let (tree, betas) = (self.tree(i), &betas[self.modulus(i)]);
            let operands = operands.map(|words| &words[i * n..][..n]);
            let operands = [self.reduced(i, operands[0], a), self.reduced(i, operands[1], b)];
            let put = |out: &mut S, product| put(&tree.field, out, product);
            restored_products(tree, self.rows.restore, betas, operands, row, &put);
        });
    }
}

impl<F: Field, S: Store<F::Word>> Kernels for Trees<'_, F, S> {
    fn forward(&self, data: &mut [u8]) {
        let is_whole = self.is_first() && self.is_last();
        let order = (self.rows.natural && self.is_last()).then(|| Reorder::to_natural(self.rows.shape));
        self.each(cast_slice_mut(data), |i, row, memory: &mut Wiped<F::Word>| {
            let tree = self.tree(i);
            if self.is_first() {
                self.reduce(i, row);
            }
            if is_whole {
                if order.is_none() && in_place(row, |words| tree.forward(words)) {
                    return;
                }
                memory.set(row.iter().map(|x| x.load()));
                tree.forward(memory);
            } else {
                self.load_between(i, row, memory);
                tree.forward_part(&self.rows.part, memory);
            }
            match &order {
                Some(order) => order.apply(memory, row, S::store),
                None => row.iter_mut().zip(memory.iter()).for_each(|(x, word)| *x = S::store(*word)),
            }
        });
    }

    fn inverse(&self, data: &mut [u8]) {
        let is_whole = self.is_first() && self.is_last();
        let order = (self.rows.natural && self.is_last()).then(|| Reorder::to_tree(self.rows.shape));
        self.each(cast_slice_mut(data), |i, row, memory: &mut Wiped<F::Word>| {
            let tree = self.tree(i);
            if self.is_last() {
                self.reduce(i, row);
            }
            if is_whole && order.is_none() && in_place(row, |words| tree.inverse(words, Origin::Values)) {
                return;
            }
            match &order {
                Some(order) => {
                    memory.set_len(row.len());
                    order.apply(row, memory, S::load);
                }
                None => self.load_between(i, row, memory),
            }
            match is_whole {
                true => tree.inverse(memory, Origin::Values),
                false => tree.inverse_part(&self.rows.part, memory),
            }
            row.iter_mut().zip(memory.iter()).for_each(|(x, word)| *x = S::store(*word));
        });
    }

    fn ring_mul(&self, operands: [&[u8]; 2], out: &mut [u8]) {
        let (operands, n) = (operands.map(cast_slice::<_, S>), self.rows.shape.n);
        self.each(cast_slice_mut(out), |i, row, ([x, y, z], memory): &mut ([Wiped<F::Word>; 3], Wiped<S>)| {
            let tree = self.tree(i);
            for (words, operand) in iter::zip([&mut *x, &mut *y], operands) {
                words.set(self.reduced(i, &operand[i * n..][..n], memory).iter().map(|x| x.load()));
            }
            if size_of_val(&**x) > TASK_BYTES {
                threads::join(|| tree.forward(x), || tree.forward(y));
            } else {
                tree.forward(x);
                tree.forward(y);
            }
            let finish = |words: &mut [F::Word]| {
                products(tree, tree.leaf_constants(), [x, y], words, &|out, product| *out = product);
                tree.inverse(words, Origin::Products);
            };
            if !in_place(row, finish) {
                z.set_len(n);
                finish(z);
                row.iter_mut().zip(z.iter()).for_each(|(x, word)| *x = S::store(*word));
            }
        });
    }

    fn point_mul(&self, operands: [&[u8]; 2], out: &mut [u8], add: bool) {
        let out = cast_slice_mut(out);
        if add {
            self.each(out, |i, row, (): &mut ()| self.reduce(i, row));
            self.multiply(operands, out, |field, out, product| {
                *out = S::store(field.canonical(field.add(product, out.load())));
            });
        } else {
            self.multiply(operands, out, |field, out, product| *out = S::store(field.canonical(product)));
        }
    }

    fn inner_product(
        &self,
        values: [&[u8]; 2],
        place: &(dyn Fn(usize, usize) -> [usize; 2] + Sync),
        (keys, of): (&[u8], Keys),
        count: usize,
        turn: Turn<'_>,
        out: &mut [u8],
    ) {
        let (values, keys) = (values.map(cast_slice::<_, S>), cast_slice::<_, S>(keys));
        let plus = turn.plus.map(|(elements, sums, factors)| (cast_slice::<_, S>(elements), sums, factors));
        let (n, limbs) = (self.rows.shape.n, self.rows.of_row.len());
        let out: &mut [S] = cast_slice_mut(out);
        let items = (out.len() / (of.sets * limbs * n)).max(1);
        threads::rows(out, n, &|i, sums: &mut [S]| {
            let (item, set, own_row) = (i / (of.sets * limbs), i / of.period % of.sets, i % of.period);
            let row = i % (of.sets * limbs) / (of.sets * of.period) * of.period + own_row;
            let tree = self.tree(row);
            let field = tree.field;
            let first = |element: usize| {
                let [source, row] = place(element, row);
                let values = values[source];
                &values[item * (values.len() / items) + row * n..][..n]
            };
            let key_row = if own_row < of.own { own_row } else { own_row + of.limbs - of.period };
            let key = |element: usize| (element * of.limbs + key_row) * n;
            // the further term of this row, its factor, a constant and 1; constants are public
            let is_zero = |number: &S| bytemuck::bytes_of(number).iter().all(|byte| *byte == 0);
            let further = plus.filter(|(_, sums, _)| set < *sums).and_then(|(elements, sums, factors)| {
                let bytes = factors.chunks_exact(3 * size_of::<S>()).nth(row)?;
                let numbers: [S; 3] =
                    core::array::from_fn(|i| pod_read_unaligned(&bytes[i * size_of::<S>()..][..size_of::<S>()]));
                let stride = elements.len() / items;
                let limb = &elements[item * stride + set * (stride / sums) + row * n..][..n];
                Some((limb, set == 0 && !is_zero(&numbers[1]), numbers.map(|number| number.load())))
            });
            let mut memory = [(); 3].map(|()| Wiped::default());
            for (tile, sums) in sums.chunks_mut(TILE).enumerate() {
                let within = tile * TILE..tile * TILE + sums.len();
                let tile = |first: usize| first + within.start..first + within.end;
                let mut totals = [None; TILE];
                for group in (0..count).step_by(MOST_PRODUCTS) {
                    let mut products = [field.wide_zero(); TILE];
                    for j in group..count.min(group + MOST_PRODUCTS) {
                        let [for_image, for_x, for_y] = &mut memory;
                        let x = self.reduced(row, turn.part(first(j), within.clone(), for_image), for_x);
                        let y = self.reduced(row, &keys[tile(key((item * of.sets + set) * of.count + j))], for_y);
                        for (product, (x, y)) in products.iter_mut().zip(x.iter().zip(y)) {
                            *product = field.wide_mad(*product, x.load(), y.load());
                        }
                    }
                    for (total, product) in totals.iter_mut().zip(products).take(sums.len()) {
                        let sum = field.wide_reduce(product);
                        *total = Some(total.map_or(sum, |total| field.relax(field.add(total, sum))));
                    }
                }
                if let Some((limb, has_constant, [factor, constant, one])) = further {
                    let [for_image, for_x, _] = &mut memory;
                    let x = self.reduced(row, turn.part(limb, within.clone(), for_image), for_x);
                    let product = |x, y| field.wide_reduce(field.wide_mad(field.wide_zero(), x, y));
                    let number = has_constant.then(|| product(one, constant));
                    for (total, x) in totals.iter_mut().zip(x) {
                        for term in [Some(product(x.load(), factor)), number].into_iter().flatten() {
                            *total = Some(total.map_or(term, |total| field.relax(field.add(total, term))));
                        }
                    }
                }
                for (out, total) in sums.iter_mut().zip(totals) {
                    let total = total.unwrap_or_else(|| field.wide_reduce(field.wide_zero()));
                    let sum = if self.rows.restore { field.mul(total, tree.product_factor()) } else { total };
                    *out = S::store(field.canonical(sum));
                }
            }
        });
    }
}

/// If the storage type `S` is as wide as the word type `W`, calls `run` on the residues in place and returns true.
/// Otherwise does nothing and returns false.
fn in_place<S: Pod, W: Pod>(row: &mut [S], run: impl FnOnce(&mut [W])) -> bool {
    if size_of::<S>() != size_of::<W>() {
        return false;
    }
    bytemuck::try_cast_slice_mut(row).map(run).is_ok()
}
