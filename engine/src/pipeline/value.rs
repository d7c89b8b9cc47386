//! Operations on values.

use core::ops::{Add, Mul, Neg, Range, Sub};
use std::sync::Arc;

use crypto_bigint::U256;

use crate::job::{Job, Op};
use crate::kernels::elementwise::{combine, permute};
use crate::kernels::inner_product::{InnerProduct, Terms, Turn};
use crate::kernels::tensor::Tensor;
use ringforge_math::error::{Error, Result};
use ringforge_math::factorization::Factorization;
use ringforge_math::modulus::{Modulus, low_u64};
use ringforge_math::poly::{Order, PolyType};
use ringforge_math::ring::Quotient;
use ringforge_runtime::kernel::{Combination, Kernel};

use super::graph::{Id, Refused};
use super::{Value, automorphism};

impl<'p> Value<'p> {
    /// The same value, declared to hold ring elements of this type. Use it for the outputs of your own kernels, and
    /// to reinterpret the bytes of elements as those of another ring.
    #[must_use]
    #[track_caller]
    pub fn holding(self, poly: impl Into<PolyType>) -> Self {
        let Some(id) = self.id else { return self };
        let id = self.pipeline.graph.borrow_mut().holding(id, poly.into());
        self.pipeline.value(id)
    }

    /// Marks a value secret, together with everything that steps derive from it. After a run, secret temporaries are
    /// wiped, and so is staging memory between host and device. Samples are secret without this mark, but values
    /// derived from a sample are secret only if it is marked.
    ///
    /// ```
    /// # use ringforge::{Engine, Ring};
    /// # let ring: Ring = "17:x^4+1".parse()?;
    /// # let engine = Engine::cpu();
    /// let p = engine.pipeline("a product with a secret");
    /// let s = p.coefficients("s", &ring).secret();
    /// p.output("product", (p.coefficients("a", &ring).forward() * s.forward()).inverse());
    /// let plan = p.build()?;
    /// assert!(plan.arg("s").is_some_and(|s| s.secret) && plan.arg("a").is_some_and(|a| !a.secret));
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    pub fn secret(self) -> Self {
        if let Some(id) = self.id {
            self.pipeline.graph.borrow_mut().mark_secret(id);
        }
        self
    }

    /// A range of limbs, as elements of the [type with these limbs](PolyType::limbs). The result is a view, not a copy.
    /// Only steps whose kernels do not support [views](crate::kernels::Kernel::on_views) copy it.
    ///
    /// ```
    /// # use ringforge::{Engine, Ring};
    /// # let engine = Engine::cpu();
    /// let ring: Ring = "97,193:x^4+1".parse()?;
    /// let p = engine.pipeline("the second limb alone");
    /// let a = p.coefficients("a", &ring);
    /// let square = a.limbs(1..2) * a.limbs(1..2);
    /// p.output("b", p.join(&ring, &[a.limbs(0..1), square]));
    /// let mut b = [0u16; 8];
    /// let program = engine.compile(p)?;
    /// program.on_host(1).input("a", &[1u16, 2, 3, 4, 0, 5, 0, 0]).output("b", &mut b).run()?;
    /// assert_eq!(b, [1, 2, 3, 4, 0, 0, 25, 0]);
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn limbs(self, limbs: Range<usize>) -> Self {
        let Some(id) = self.id else { return self };
        let content = self.pipeline.graph.borrow().content(id).cloned();
        let Some(content) = content else { return self.without_elements(id) };
        let limb = content.bytes() / content.basis().len();
        match content.limbs(limbs.clone()) {
            Ok(content) => self.view(limbs.start * limb..limbs.end * limb, Some(content)),
            Err(error) => self.pipeline.fail(error),
        }
    }

    /// Element `i` of a [vector](PolyType::vector). Like the result of [`Value::limbs`], it is a view.
    #[must_use]
    #[track_caller]
    pub fn element(self, i: usize) -> Self {
        let Some(content) = self.content(&[self]) else { return self.nothing() };
        let limbs = content.of_vector().map_or(content.basis().len(), |(one, _)| one.basis().len());
        let first = i.saturating_mul(limbs);
        self.limbs(first..first.saturating_add(limbs))
    }

    /// A byte range of each item. Like the result of [`Value::limbs`], it is a view.
    #[must_use]
    #[track_caller]
    pub fn part(self, bytes: Range<usize>) -> Self {
        self.view(bytes, None)
    }

    #[track_caller]
    fn view(self, bytes: Range<usize>, content: Option<PolyType>) -> Self {
        let Some(id) = self.id else { return self };
        let view = self.pipeline.graph.borrow_mut().view(id, bytes, content);
        self.pipeline.value(view)
    }

    /// The elements of a [vector](PolyType::vector), one by one: an operation on the result works on each element.
    /// [`Value::together`] makes the results a vector again. A step on each element is one launch for all of them, and
    /// all its values must be divided like this, except those that all items share.
    ///
    /// ```
    /// # use ringforge::{Engine, PolyType};
    /// # let engine = Engine::cpu();
    /// let poly: PolyType = "97,193:x^2+1".parse()?;
    /// let p = engine.pipeline("the first limbs of two elements");
    /// let a = p.coefficients("a", poly.vector(2)?).each();
    /// p.output("b", (a.limbs(0..1) + a.limbs(0..1)).together());
    /// let mut b = [0u16; 4];
    /// let program = engine.compile(p)?;
    /// program.on_host(1).input("a", &[1u16, 2, 0, 0, 3, 4, 0, 0]).output("b", &mut b).run()?;
    /// assert_eq!(b, [2, 4, 6, 8]);
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn each(self) -> Self {
        let Some(content) = self.content(&[self]) else { return self.nothing() };
        match content.of_vector() {
            Some((one, count)) => self.divided(count, one),
            None => {
                let why = format!("{} are not a vector, so there are no elements to work on", content.described());
                self.pipeline.fail(self.pipeline.refused(why))
            }
        }
    }

    /// The vector of all elements that [`Value::each`] divided an item into. Other values are returned unchanged.
    #[must_use]
    #[track_caller]
    pub fn together(self) -> Self {
        let Some(content) = self.content(&[self]) else { return self.nothing() };
        let elements = self.count();
        match content.vector(elements) {
            _ if elements == 1 => self,
            Ok(vector) => self.divided(1, vector),
            Err(error) => self.pipeline.fail(error),
        }
    }

    /// The number of elements of an item.
    fn count(self) -> usize {
        self.id.map_or(1, |id| self.pipeline.graph.borrow().elements(id))
    }

    /// The expected number of elements per run.
    pub(super) fn items(self) -> usize {
        self.pipeline.target.items.saturating_mul(self.count())
    }

    #[track_caller]
    fn divided(self, elements: usize, content: PolyType) -> Self {
        let Some(id) = self.id else { return self };
        let divided = self.pipeline.graph.borrow_mut().divided(id, elements, Some(content));
        self.pipeline.value(divided)
    }

    /// The evaluations of coefficients (forward NTT), in [`Order::DigitReversed`], which is the fastest order.
    #[must_use]
    #[track_caller]
    pub fn forward(self) -> Self {
        self.forward_to(Order::DigitReversed)
    }

    /// The evaluations of coefficients (forward NTT), in this order.
    #[must_use]
    #[track_caller]
    pub fn forward_to(self, order: Order) -> Self {
        self.job(|content| Job::new(content, Op::Forward).order(order), &[self])
    }

    /// The coefficients of evaluations (inverse NTT).
    #[must_use]
    #[track_caller]
    pub fn inverse(self) -> Self {
        self.job(|content| of_elements(content, Op::Inverse), &[self])
    }

    /// The pointwise product of evaluations, added to `sum`, whose memory the result overwrites. All three must be in
    /// the same order.
    #[must_use]
    #[track_caller]
    pub fn mul_add(self, other: Self, sum: Self) -> Self {
        self.job(|content| of_elements(content, Op::MulAdd), &[self, other, sum])
    }

    /// These elements times a constant: one number for each modulus of the basis, or one number for all moduli. A
    /// number is reduced modulo its modulus.
    ///
    /// ```
    /// # use ringforge::{Engine, Ring, U256};
    /// # let engine = Engine::cpu();
    /// let ring: Ring = "17,97:x^2+1".parse()?;
    /// let p = engine.pipeline("2a - b/3");
    /// let [a, b] = ["a", "b"].map(|name| p.coefficients(name, &ring));
    /// p.output("c", a.scale(&[U256::from(2u32)]) - b.scale(&[6u32, 65].map(U256::from)));
    /// let mut c = [0u16; 4];
    /// let program = engine.compile(p)?;
    /// program.on_host(1).input("a", &[1u16, 0, 1, 0]).input("b", &[3u16, 0, 0, 6]).output("c", &mut c).run()?;
    /// assert_eq!(c, [1, 0, 2, 95]);
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn scale(self, numbers: &[U256]) -> Self {
        self.linear(&[self], |poly| {
            let basis = poly.basis();
            let number = |(i, q): (usize, &Modulus)| q.reduce(&numbers[if numbers.len() == 1 { 0 } else { i }]);
            match numbers.len() {
                count if count == 1 || count == basis.len() => {
                    Ok(Combination::of(&[false]).times(basis.iter().enumerate().map(number).collect()))
                }
                count => {
                    Err(format!("got {count} numbers for {} moduli: give one for all, or one for each", basis.len()))
                }
            }
        })
    }

    /// The image under the Galois automorphism x → x^k, of coefficients or of evaluations in either order. The
    /// quotient must be x^n − 1 with k coprime to n, or x^n + 1 with k coprime to 2n.
    ///
    /// ```
    /// # use ringforge::{Engine, Ring};
    /// # let engine = Engine::cpu();
    /// let ring: Ring = "17:x^4+1".parse()?;
    /// let p = engine.pipeline("a(x^3)");
    /// let a = p.coefficients("a", &ring);
    /// p.output("b", a.automorphism(3));
    /// let mut b = [0u16; 4];
    /// let program = engine.compile(p)?;
    /// program.on_host(1).input("a", &[1u16, 2, 3, 4]).output("b", &mut b).run()?;
    /// assert_eq!(b, [1, 4, 14, 2]); // 1 + 2x^3 + 3x^6 + 4x^9, where x^4 = -1
    /// # Ok::<(), ringforge::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn automorphism(self, k: u64) -> Self {
        let Some(content) = self.content(&[self]) else { return self.nothing() };
        match self.pipeline.keep(automorphism::places(&content, k)) {
            Some(places) => self.one(permute(&content.coefficients(), places), &[self], content),
            None => self.nothing(),
        }
    }

    /// Rotates slots to the left by `steps`, in the slot order of CKKS and BFV in Z\[x\]/(x^n + 1), n a power of two.
    /// This is the automorphism x → x^(5^steps).
    #[must_use]
    #[track_caller]
    pub fn rotate(self, steps: i64) -> Self {
        let Some(content) = self.content(&[self]) else { return self.nothing() };
        let n = content.degree() as u64;
        let has_slots = matches!(content.quotient(), Quotient::Negacyclic { .. }) && n.is_power_of_two();
        let order = Modulus::new(2 * n).map_err(|error| error.to_string());
        let order = order.and_then(|order| match has_slots {
            true => Ok(order),
            false => Err(format!(
                "rotations need slots, modulo x^n + 1 with n a power of two: {} have none",
                content.described()
            )),
        });
        let Some(order) = self.pipeline.keep(order) else { return self.nothing() };
        // the order of 5 modulo 2n is n/2
        let steps = steps.rem_euclid((n / 2).max(1) as i64).unsigned_abs();
        self.automorphism(low_u64(&order.pow(&U256::from(5u32), &U256::from(steps))))
    }

    /// Tensor product of two pairs, as of ciphertexts: for [vectors](PolyType::vector) (a_0, a_1) and (b_0, b_1) of
    /// evaluations, the vector (a_0·b_0, a_0·b_1 + a_1·b_0) and the element a_1·b_1. The leaf degree must be 1.
    #[must_use]
    #[track_caller]
    pub fn tensor(self, other: Self) -> [Self; 2] {
        let Some(content) = self.content(&[self, other]) else { return [self.nothing(); 2] };
        let kernel = || match (content.of_vector(), content.domain()) {
            (Some((one, 2)), Some((depth, _))) => {
                let factorization = Factorization::of(one.coefficients(), Some(depth));
                let kernel =
                    factorization.and_then(|factorization| Tensor::new(&factorization, self.pipeline.limits()));
                Ok((kernel.map_err(|error| error.to_string())?, one))
            }
            _ => Err(format!("expected pairs of evaluations, got {}", content.described())),
        };
        let Some((kernel, one)) = self.pipeline.keep(kernel()) else { return [self.nothing(); 2] };
        match self.pipeline.dynamic_step(Arc::new(kernel), &[self, other])[..] {
            [pair, square] => [pair.holding(content), square.holding(one)],
            _ => [self.nothing(); 2],
        }
    }

    /// Inner products with keys, as in key switching: Σ_i a_i·key_(s,i) for each set s. `self` is a
    /// [vector](PolyType::vector) of k elements of the ring `poly`, as evaluations. `keys` has k elements for each of
    /// `sets` sets, one set after another. The result is a vector of `sets` elements. The leaf degree must be 1. All
    /// items may share the keys.
    ///
    /// `poly` may be the type of a vector. Then each a_i is such a vector, whose elements are all multiplied by the same
    /// keys. The result has first the sums of all sets for the first elements, then those for the second ones, and so on.
    ///
    /// The same keys serve all levels of a modulus chain: a set may have more than k keys, over a ring with more
    /// limbs. The limbs of `poly` must be the first and the last of those limbs (for keys modulo Q·P: the remaining
    /// limbs of Q, then those of P).
    #[must_use]
    #[track_caller]
    pub fn inner_product(self, poly: impl Into<PolyType>, keys: Self, sets: usize) -> Self {
        let poly = poly.into().coefficients();
        let Some(a) = self.content(&[self]) else { return self.nothing() };
        let count = a.basis().len() / poly.basis().len();
        match poly.vector(count).map(|whole| whole.in_domain_of(&a)) {
            Ok(whole) if whole == a => {
                self.times_keys([self, self], (&poly, Terms::Whole(count), Turn::default()), keys, sets)
            }
            _ => {
                let why = format!("expected a vector over {poly}, got {}", a.described());
                self.pipeline.fail(self.pipeline.refused(why))
            }
        }
    }

    /// The inner products of `terms`, elements of the ring `poly` that lie in `self` and `own`, with sets of keys.
    /// `further` is the further term of `turn`, or again `own`.
    #[track_caller]
    pub(super) fn times_keys(
        self,
        [own, further]: [Self; 2],
        (poly, terms, turn): (&PolyType, Terms, Turn),
        keys: Self,
        sets: usize,
    ) -> Self {
        let (Some(a), Some(b)) = (self.content(&[self]), keys.content(&[keys])) else { return self.nothing() };
        let refused = |error: Error| error.to_string();
        let kernel = || {
            let Some((depth, _)) = a.domain() else {
                return Err("inner products need evaluations: transform the elements first".into());
            };
            if b.domain() != a.domain() {
                let (a, b) = (a.described(), b.described());
                return Err(format!("expected keys in the order of the elements, {a}, got {b}"));
            }
            let factorization = Factorization::of(poly, Some(depth)).map_err(refused)?;
            let (keys, limits) = (b.coefficients(), self.pipeline.limits());
            let kernel = InnerProduct::new(&factorization, terms, &keys, sets, turn, limits).map_err(refused)?;
            Ok((kernel, poly.vector(sets).map_err(refused)?.in_domain_of(&a)))
        };
        match self.pipeline.keep(kernel()) {
            Some((kernel, content)) => self.one(Arc::new(kernel), &[self, own, keys, further], content),
            None => self.nothing(),
        }
    }

    /// The placeholder for the result of an operation that failed.
    pub(super) fn nothing(self) -> Self {
        Self { id: None, ..self }
    }

    /// The type of these values. Records an error and returns `None` unless all hold elements of the same type.
    #[track_caller]
    pub(super) fn content(self, values: &[Self]) -> Option<PolyType> {
        let ids = self.pipeline.ids(values)?;
        let graph = self.pipeline.graph.borrow();
        let content = graph.content(ids[0]).cloned();
        let other = ids.iter().find(|&&id| graph.content(id) != content.as_ref());
        let names = other.map(|&id| (graph.name(ids[0]), graph.name(id), graph.content(id).cloned()));
        drop(graph);
        match (content, names) {
            (None, _) => self.without_elements(ids[0]).id.and(None),
            (Some(content), None) => Some(content),
            (Some(content), Some((name, other, got))) => {
                let got = got.map_or_else(|| "unknown contents".into(), |got| got.described());
                self.pipeline.keep(Err(format!("{name} holds {}, but {other} holds {got}", content.described())))
            }
        }
    }

    /// Adds a step of a kernel with one output, which holds elements of type `content`, and returns that output.
    #[track_caller]
    pub(super) fn one(self, kernel: Arc<dyn Kernel>, inputs: &[Self], content: PolyType) -> Self {
        let outputs = self.pipeline.dynamic_step(kernel, inputs);
        outputs.first().map_or(self.nothing(), |output| output.holding(content))
    }

    /// A linear combination of elements of the same type.
    #[track_caller]
    pub(super) fn linear(
        self,
        elements: &[Self],
        terms: impl FnOnce(&PolyType) -> Result<Combination, Refused>,
    ) -> Self {
        let Some(content) = self.content(elements) else { return self.nothing() };
        let of = content.coefficients();
        let Some(terms) = self.pipeline.keep(terms(&of)) else { return self.nothing() };
        match combine(&of, terms) {
            Ok(kernel) => self.one(kernel, elements, content),
            Err(error) => self.pipeline.fail(error),
        }
    }

    /// Adds the steps of the job that `job` returns for the type of `self`, with these inputs.
    #[track_caller]
    pub(super) fn job(self, job: impl FnOnce(&PolyType) -> Job, inputs: &[Self]) -> Self {
        let Some(id) = self.id else { return self };
        let content = self.pipeline.graph.borrow().content(id).cloned();
        match content {
            Some(content) => {
                let job = job(&content).batch_hint(self.items());
                self.pipeline.job(&job, inputs)
            }
            None => self.without_elements(id),
        }
    }

    #[track_caller]
    fn without_elements(self, id: Id) -> Self {
        let name = self.pipeline.graph.borrow().name(id);
        self.pipeline.fail(
            self.pipeline.refused(format!("{name} is not known to hold ring elements: declare them with `holding`")),
        )
    }
}

impl Mul for Value<'_> {
    type Output = Self;

    #[track_caller]
    fn mul(self, other: Self) -> Self {
        let op = |content: &PolyType| if content.order().is_none() { Op::Mul } else { Op::PointMul };
        self.job(|content| of_elements(content, op(content)), &[self, other])
    }
}

/// The sum of elements of the same type.
impl Add for Value<'_> {
    type Output = Self;

    #[track_caller]
    fn add(self, other: Self) -> Self {
        self.linear(&[self, other], |_| Ok(Combination::of(&[false; 2])))
    }
}

/// The difference of elements of the same type.
impl Sub for Value<'_> {
    type Output = Self;

    #[track_caller]
    fn sub(self, other: Self) -> Self {
        self.linear(&[self, other], |_| Ok(Combination::of(&[false, true])))
    }
}

impl Neg for Value<'_> {
    type Output = Self;

    #[track_caller]
    fn neg(self) -> Self {
        self.linear(&[self], |_| Ok(Combination::of(&[true])))
    }
}

/// A job for elements of this type, in their domain.
fn of_elements(content: &PolyType, op: Op) -> Job {
    match content.domain() {
        None => Job::new(content, op),
        Some((depth, order)) => Job::new(content, op).order(order).depth(depth),
    }
}
