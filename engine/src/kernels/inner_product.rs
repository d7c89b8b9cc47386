//! The kernel `inner_product`: inner products in the NTT domain, as in key switching.

use core::iter;
use core::ops::Range;
use std::sync::Arc;

use crypto_bigint::U256;
use ringforge_cpu::Keys;

use crate::kernels::convert::RaisedRows;
use crate::kernels::elementwise::fused;
use crate::kernels::spread;
use crate::layout::{KernelLayout, set_strides};
use crate::source::{fusable, of_engine};
use ringforge_math::error::{Error, Result};
use ringforge_math::factorization::Factorization;
use ringforge_math::modulus::Modulus;
use ringforge_math::poly::PolyType;
use ringforge_runtime::kernel::{Args, Kernel, Port, Source, Table};
use ringforge_runtime::limits::Limits;

/// Number of element ports.
const ELEMENTS: usize = 5;

/// A table that is not read.
const NOTHING: &[u8] = &[0; 8];

/// Threads per block.
const THREADS: usize = 256;

/// For each set s of keys, the inner product Σ a_j·b_(s,j) of evaluations a_j with keys b_(s,j), in a ring whose leaves
/// (factors of the quotient) have degree 1. The keys of a set are contiguous, and so are the sets and the sums.
///
/// The elements a_j are contiguous, or the raised digits of another element. Then a digit's own limbs are read from that
/// element, and the others are [`RaisedRows`].
///
/// Elements may be vectors of elements of the keys' ring. All of these are multiplied by the same key; the sums of all sets
/// for the first of them come first.
///
/// Ports: a (in), the element of which a are the digits (in), b (in), sums (out), further terms (in), then three tables:
/// the [constants](KernelLayout::constants), the places of the image, the factors of the further terms. Ports that an
/// inner product does not need are bound again to one of the others.
#[derive(Debug, Clone)]
pub(crate) struct InnerProduct {
    rows: KernelLayout,
    terms: Terms,
    keys: Keys,
    turn: Turn,
    ports: Vec<Port>,
}

/// Options of an inner product of digits, for key switching of ciphertexts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    /// The place from which each evaluation of a limb is read: the permutation of an automorphism.
    pub(crate) image: Option<Arc<[u32]>>,
    /// Further terms of the first sums.
    pub(crate) plus: Option<Plus>,
}

/// Multiples of elements that are added to the first sums, one to each.
#[derive(Debug, Clone)]
pub(crate) struct Plus {
    /// Number of elements.
    pub(crate) sums: usize,
    /// A factor for each limb of an element.
    pub(crate) factors: Vec<U256>,
    /// A number for each limb, which is added to all evaluations of the first sum; or none.
    pub(crate) constants: Vec<U256>,
}

/// The elements of an inner product.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Terms {
    /// This many elements, each with all limbs.
    Whole(usize),
    /// Raised digits.
    Digits(RaisedRows),
}

impl Terms {
    fn count(self) -> usize {
        match self {
            Self::Whole(count) => count,
            Self::Digits(rows) => rows.digits(),
        }
    }
}

impl InnerProduct {
    /// The inner products of some elements with `sets` sets of keys; `keys` is the vector type of all keys.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for leaves of a degree above 1. Also unless `keys` has `sets` sets of at least `count`
    /// keys, over this ring or over a ring that extends its basis.
    pub(crate) fn new(
        factorization: &Factorization,
        terms: Terms,
        keys: &PolyType,
        sets: usize,
        turn: Turn,
        limits: &Limits,
    ) -> Result<Self> {
        let (count, limbs) = (terms.count(), factorization.poly().basis().len());
        let (one, parts) = factorization.poly().of_vector().unwrap_or_else(|| (factorization.poly().clone(), 1));
        let times = keys.basis().len() / one.basis().len();
        let same = one.vector(times).ok().filter(|same| same == keys);
        let (of, all) = match same {
            Some(_) => (one.clone(), times),
            None => keys.of_vector().unwrap_or_else(|| (keys.clone(), 1)),
        };
        let Some(own) = common_limbs(&one, &of).filter(|_| sets > 0 && all % sets == 0 && all / sets >= count) else {
            let job = format!("inner products of {count} elements of {}", factorization.poly());
            return Err(Error::Unsupported {
                job,
                why: format!("expected {sets} sets of {count} or more keys over this ring, got {keys}"),
            });
        };
        let keys = Keys { sets, count: all / sets, limbs: of.basis().len(), own, period: limbs / parts };
        if factorization.leaf_degree() > 1 {
            let job = format!("inner products in {}", factorization.poly());
            return Err(Error::Unsupported {
                job,
                why: format!("its leaves must have degree 1, not {}", factorization.leaf_degree()),
            });
        }
        let rows = KernelLayout::with_split(factorization, limits).by_launch();
        let (raised, own) = match terms {
            Terms::Whole(count) => (count * limbs, count * limbs),
            Terms::Digits(digits) => (count * limbs - digits.limbs, digits.limbs),
        };
        let row = factorization.n() * factorization.poly().width().bytes();
        let input = |limbs: usize| Port::input(limbs * row);
        let ports = vec![
            input(raised),
            input(own),
            input(all * of.basis().len()),
            Port::output(sets * limbs * row),
            input(own * turn.plus.as_ref().map_or(1, |plus| plus.sums)),
            rows.constants_port(),
        ];
        let mut kernel = Self { rows, terms, keys, turn, ports };
        let tables = [kernel.places().len(), kernel.factors().len()];
        kernel.ports.extend(tables.map(Port::shared));
        Ok(kernel)
    }

    fn places(&self) -> &[u8] {
        self.turn.image.as_deref().map_or(NOTHING, bytemuck::cast_slice)
    }

    /// For each limb of a further term its factor, the constant and 1, as residues are stored.
    fn factors(&self) -> Vec<u8> {
        let (poly, Some(plus)) = (&self.rows.poly, &self.turn.plus) else { return NOTHING.into() };
        let numbers = plus.factors.iter().enumerate().map(|(limb, factor)| {
            let constant = plus.constants.get(limb).copied().unwrap_or(U256::ZERO);
            [*factor, constant, U256::ONE]
        });
        let stored = |(q, number): (&Modulus, U256)| {
            let residue = q.mul(&q.reduce(&number), &poly.radix(q)).to_le_bytes();
            residue.as_ref()[..poly.width().bytes()].to_vec()
        };
        poly.basis().iter().zip(numbers).flat_map(|(q, all)| all.map(|number| stored((q, number))).concat()).collect()
    }

    /// Number of sums with a further term, and whether a constant is added to the first one.
    fn plus(&self) -> (usize, bool) {
        self.turn.plus.as_ref().map_or((0, false), |plus| (plus.sums, !plus.constants.is_empty()))
    }
}

/// The number of leading limbs in which `poly` and `of` agree. `None` unless the remaining limbs of `poly` are the last
/// limbs of `of`.
fn common_limbs(poly: &PolyType, of: &PolyType) -> Option<usize> {
    let (limbs, all) = (poly.basis().len(), of.basis().len());
    let same = poly.basis().iter().zip(of.basis()).take_while(|(q, other)| q == other).count();
    let agree = |limbs: Range<usize>, others: Range<usize>| {
        limbs.is_empty() || poly.limbs(limbs).ok().is_some_and(|limbs| of.limbs(others) == Ok(limbs))
    };
    (agree(0..same, 0..same) && limbs <= all && agree(same..limbs, all - (limbs - same)..all)).then_some(same)
}

impl Kernel for InnerProduct {
    fn name(&self) -> &'static str {
        "inner_product"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        let mut built = self.rows.build_part(limits)?;
        let (n, lanes) = (self.rows.factorization.n(), self.rows.leaf_lanes());
        built.launch = spread::launch(self.rows.poly.basis().len() * n / lanes, THREADS)?;
        let (plus, constant) = self.plus();
        built.prelude += &format!(
            "struct Sets {{\n    static constexpr rf::u32 count = {}, parts = {}, threads = {THREADS}, plus = {plus};\n    \
             static constexpr bool image = {}, constant = {constant};\n}};\n",
            self.keys.sets,
            self.rows.poly.basis().len() / self.keys.period,
            self.turn.image.is_some(),
        );
        let width = self.rows.poly.width().bytes();
        let strides = self.ports[..ELEMENTS].iter().map(|port| port.stride() / width);
        let numbers = iter::once(self.rows.per_item).chain(strides).chain([self.terms.count()]);
        let (group, limbs) = match self.terms {
            Terms::Whole(_) => (0, 0),
            Terms::Digits(RaisedRows { limbs, group }) => (group, limbs),
        };
        let numbers = numbers.chain([self.keys.count, self.keys.limbs, self.keys.own, self.keys.period, group, limbs]);
        let numbers = numbers.map(|number| number as u64).collect();
        Ok(fusable(of_engine(self, ringforge_kernels::INNER_PRODUCT, built, numbers)))
    }

    fn on_views(&self, firsts: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let rows = self.rows.apart(&firsts[..ELEMENTS], &strides[..ELEMENTS])?;
        let mut kernel = Self { rows, ..self.clone() };
        set_strides(&mut kernel.ports, strides);
        Some(Arc::new(kernel))
    }

    fn table(&self, port: usize) -> Option<Table> {
        match port.checked_sub(ELEMENTS)? {
            0 => Some(self.rows.constants()),
            1 => Some(Table::Bytes(self.places().into())),
            2 => Some(Table::Bytes(self.factors().into())),
            _ => None,
        }
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        let kernels = self.rows.on_cpu(args, None, ELEMENTS)?;
        let [values, own, keys] = self.rows.operands(args)?;
        let further = self.rows.aligned(args.input::<u8>(4)?)?;
        let limbs = self.rows.poly.basis().len();
        let row = |element: usize, limb: usize| match self.terms {
            Terms::Digits(rows) if rows.own(element).contains(&limb) => [1, limb],
            Terms::Digits(rows) => [0, rows.row(element, limb)],
            Terms::Whole(_) => [0, element * limbs + limb],
        };
        let out = self.rows.aligned(args.output::<u8>(3)?)?;
        let factors = self.factors();
        let turn = ringforge_cpu::Turn {
            image: self.turn.image.as_deref(),
            plus: self.turn.plus.as_ref().map(|plus| (further, plus.sums, &factors[..])),
        };
        kernels.inner_product([values, own], &row, (keys, self.keys), self.terms.count(), turn, out);
        Ok(())
    }

    fn with_epilogue(&self, then: &Arc<dyn Kernel>, term: usize) -> Option<Arc<dyn Kernel>> {
        fused(Arc::new(self.clone()), 3, &self.rows.poly.vector(self.keys.sets).ok()?, then, term)
    }

    fn describe(&self) -> String {
        let (count, terms) =
            (self.terms.count(), if matches!(self.terms, Terms::Digits(_)) { "digits" } else { "terms" });
        let image = if self.turn.image.is_some() { ", image" } else { "" };
        let plus = match self.plus() {
            (0, _) => String::new(),
            (sums, constant) => format!(", {sums} terms more{}", if constant { ", a constant" } else { "" }),
        };
        format!("{count} {terms}, {} sets{image}{plus}, {}", self.keys.sets, self.rows.describe())
    }
}
