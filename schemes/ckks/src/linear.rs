//! Linear maps of slots: products with plaintext matrices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use num_complex::Complex64;
use ringforge::{Buffer, Pipeline, PolyType, Value};
use ringforge_rlwe::{GaloisKeys, rotation};

use crate::error::{Error, Result};
use crate::params::Parameters;
use crate::programs::{Operation, Programmed, numbered};
use crate::scheme::Ckks;
use crate::steps::Level;
use crate::types::Ciphertext;

/// A linear map of the slots of a ciphertext, encoded for one level: a matrix with a row and a column for each slot.
///
/// Place j of diagonal d has the entry of row j and column j + d, in a circle.
///
/// Images are computed by the diagonal method with baby steps and giant steps (Halevi–Shoup, eprint 2018/244) and
/// double hoisting (Bossuat, Mouchet, Troncoso-Pastoriza and Hubaux, eprint 2020/1203). Baby steps rotate the
/// ciphertext. They share one ModUp and stay modulo Q·P, where their products with diagonals are summed. Giant steps
/// rotate these sums. A single division at the end is that by P and the rescaling.
#[derive(Debug)]
pub struct LinearMap {
    parameters: Arc<Parameters>,
    level: usize,
    scale: f64,
    steps: Steps<i64>,
    /// For each giant step, the diagonals of all baby steps, as evaluations modulo Q·P.
    diagonals: Buffer,
}

/// Entries of diagonals, by their distance from the main one.
pub(crate) type Diagonals = BTreeMap<i64, Vec<Complex64>>;

/// The rotations of a linear map: as steps to the left, or as the k of their automorphisms x → x^k. The first baby step
/// and the first giant step do not rotate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Steps<T> {
    pub(crate) babies: Vec<T>,
    pub(crate) giants: Vec<T>,
}

/// The image under a linear map, with the automorphisms of its steps, and the number of primes of their keys.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Linear(pub(crate) Steps<u64>, pub(crate) BTreeMap<u64, usize>);

impl Programmed for Linear {
    fn build(&self, ckks: &Ckks, level: usize, p: &Pipeline) -> Result<()> {
        let (steps, Self(automorphisms, limbs)) = (ckks.level(level)?, self);
        let key = |(&k, &limbs): (&u64, &usize)| {
            Ok((k, ckks.keys().basis(limbs)?.trimmed_key(p, &numbered("key", k as usize))?))
        };
        let keys = limbs.iter().map(key).collect::<Result<_>>()?;
        let diagonals = p.shared("diagonals", steps.diagonals_type(automorphisms)?.bytes());
        let diagonals = diagonals.holding(steps.diagonals_type(automorphisms)?);
        p.output("to", steps.linear(p, steps.ciphertext(p, "a"), automorphisms, diagonals, &keys)?);
        Ok(())
    }
}

impl Ckks {
    /// Encodes the linear map with these diagonals, as pairs of d and the entries of diagonal d, for ciphertexts of
    /// this level. Diagonals with the same d modulo the number of slots are added, and missing entries are 0.
    ///
    /// The map has the scale by which rescaling divides, so that images have the scale of the ciphertexts.
    ///
    /// # Errors
    /// [`Error::NoLevel`] at level 0, because an image is one level lower; the errors of [`Ckks::encode_at`].
    pub fn linear_map(&self, diagonals: &[(i64, Vec<Complex64>)], level: usize) -> Result<LinearMap> {
        let (_, rest) = self.below(level, 1.0)?;
        self.linear_map_at(diagonals, level, 1.0 / rest)
    }

    /// Encodes like [`Ckks::linear_map`], but at the given scale.
    ///
    /// # Errors
    /// The errors of [`Ckks::linear_map`].
    pub fn linear_map_at(&self, diagonals: &[(i64, Vec<Complex64>)], level: usize, scale: f64) -> Result<LinearMap> {
        let slots = self.parameters().slots();
        self.below(level, scale)?;
        self.parameters().check_scale(scale, level)?;
        let (all, steps) = self.gathered(diagonals)?;
        let ring = self.level(level)?.diagonals_type(&steps)?;
        let mut buffer = self.stream()?.secret_buffer(ring.bytes())?;
        // rotated right by the giant step, because the sum of the products is rotated left by it later
        let diagonal = |giant: &i64, baby: &i64| {
            let mut entries = all.get(&(giant + baby)).cloned().unwrap_or_default();
            if !entries.is_empty() {
                entries.rotate_right(giant.rem_euclid(slots as i64) as usize);
            }
            entries
        };
        let of_giant = |giant| steps.babies.iter().map(move |baby| diagonal(giant, baby));
        let items: Vec<Vec<Complex64>> = steps.giants.iter().flat_map(of_giant).collect();
        self.encode_into(&items, level, scale, Operation::Encode { extended: true }, &mut buffer)?;
        Ok(LinearMap { parameters: self.shared_parameters().clone(), level, scale, steps, diagonals: buffer })
    }

    /// The diagonals that are not zero, by their distance, and the steps of their linear map.
    pub(crate) fn gathered(&self, diagonals: &[(i64, Vec<Complex64>)]) -> Result<(Diagonals, Steps<i64>)> {
        let slots = self.parameters().slots();
        let mut all = Diagonals::new();
        for (d, entries) in diagonals {
            if entries.len() > slots {
                return Err(Error::Slots { slots, got: entries.len() });
            }
            let sum = all.entry(centred(*d, slots)).or_insert_with(|| vec![Complex64::ZERO; slots]);
            sum.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += entry);
        }
        all.retain(|_, entries| entries.iter().any(|entry| *entry != Complex64::ZERO));
        let steps = cut(&all.keys().copied().collect::<Vec<_>>());
        Ok((all, steps))
    }

    /// Encodes a d × d matrix for ciphertexts of this level; d must divide the number of slots. It maps vectors of d
    /// numbers that repeat across all slots, and its result repeats in the same way. The scale is that of
    /// [`Ckks::linear_map`].
    ///
    /// # Errors
    /// [`Error::Matrix`] unless the matrix is square and d divides the number of slots; the errors of
    /// [`Ckks::linear_map`].
    pub fn matrix(&self, rows: &[impl AsRef<[Complex64]>], level: usize) -> Result<LinearMap> {
        let size = rows.len() as i64;
        self.matrix_of(rows, level, 0..size, |column| Some(column.rem_euclid(size)))
    }

    /// Encodes a d × d matrix like [`Ckks::matrix`], for slots in blocks of d that each hold a vector of their own. It maps
    /// each of these vectors. A matrix takes about 1.4 times the rotations of [`Ckks::matrix`], and does slots / d products.
    ///
    /// # Errors
    /// The errors of [`Ckks::matrix`].
    pub fn block_matrix(&self, rows: &[impl AsRef<[Complex64]>], level: usize) -> Result<LinearMap> {
        let size = rows.len() as i64;
        self.matrix_of(rows, level, 1 - size..size, |column| (0..size).contains(&column).then_some(column))
    }

    /// The map whose diagonals `distances` have the entries of a matrix in each block of slots. `column` is the column of a
    /// place to the right or left of the matrix; `None` if there is a 0.
    fn matrix_of(
        &self,
        rows: &[impl AsRef<[Complex64]>],
        level: usize,
        distances: core::ops::Range<i64>,
        column: impl Fn(i64) -> Option<i64>,
    ) -> Result<LinearMap> {
        let (slots, size) = (self.parameters().slots(), rows.len());
        let rows: Vec<&[Complex64]> = rows.iter().map(AsRef::as_ref).collect();
        let columns = rows.iter().map(|row| row.len()).find(|&columns| columns != size);
        if size == 0 || slots % size != 0 || columns.is_some() {
            return Err(Error::Matrix { rows: size, columns: columns.unwrap_or(size), slots });
        }
        let entry =
            |d: i64, row: usize| column(row as i64 + d).map_or(Complex64::ZERO, |column| rows[row][column as usize]);
        let diagonals = distances.map(|d| (d, (0..slots).map(|slot| entry(d, slot % size)).collect()));
        self.linear_map(&diagonals.collect::<Vec<_>>(), level)
    }

    /// The images of ciphertexts under a linear map, rescaled: one level lower. Their scale is that of the map times
    /// that of `a`, divided by the primes that rescaling drops.
    ///
    /// # Errors
    /// [`NoRotationKey`](crate::rlwe::Error::NoRotationKey) if `keys` lacks one of [`LinearMap::rotations`];
    /// [`Error::Levels`] if `a` is not at the level of the map; [`Error::Scale`] and [`Error::LowScale`] as for a
    /// product that is rescaled; [`Foreign`](crate::rlwe::Error::Foreign) if an argument was made for parameters other
    /// than this scheme's; [`Error::Engine`] if the engine fails.
    pub fn apply(&self, map: &LinearMap, a: &Ciphertext, keys: &GaloisKeys) -> Result<Ciphertext> {
        self.own(&map.parameters, "the linear map")?;
        self.own(&a.0.parameters, "the ciphertext")?;
        self.keys().own(keys.parameters(), "the rotation keys")?;
        let (level, batch, scale) = (a.level(), a.batch(), a.scale() * map.scale);
        if level != map.level {
            return Err(Error::Levels { left: map.level, right: level });
        }
        self.parameters().check_scale(scale, level)?;
        let (to_level, scale) = self.rescaled(level, scale)?;
        let found = map.rotations().into_iter().filter_map(|steps| keys.rotation(steps).transpose());
        let found: Vec<_> = found.collect::<Result<_, _>>()?;
        found.iter().try_for_each(|(_, key)| key.serves(self.parameters().limbs(level)))?;
        let automorphisms = map.steps.each(|steps| rotation(self.parameters().rlwe(), *steps).1);
        let limbs = found.iter().map(|(k, key)| (*k, key.limbs())).collect();
        let program = self.program(Linear(automorphisms, limbs), level, batch)?;
        self.ciphertext(to_level, scale, batch, |to| {
            let mut call = program.on(self.stream()?, batch).input("a", &a.0.buffer).input("diagonals", &map.diagonals);
            for (k, key) in found {
                call = call.input(&numbered("key", k as usize), key.buffer());
            }
            Ok(call.output("to", to).run()?)
        })
    }
}

impl LinearMap {
    /// Level of the ciphertexts that the map takes.
    #[must_use]
    pub fn level(&self) -> usize {
        self.level
    }

    /// Steps of all rotations that the map needs, to be passed to
    /// [`KeyGenerator::galois_keys`](crate::KeyGenerator::galois_keys). In ascending order.
    #[must_use]
    pub fn rotations(&self) -> Vec<i64> {
        self.steps.rotations(self.parameters.slots())
    }
}

impl Steps<i64> {
    /// All rotations but that by 0, in ascending order.
    pub(crate) fn rotations(&self, slots: usize) -> Vec<i64> {
        let steps = self.babies.iter().chain(&self.giants).map(|steps| centred(*steps, slots));
        steps.collect::<BTreeSet<i64>>().into_iter().filter(|steps| *steps != 0).collect()
    }
}

impl<T> Steps<T> {
    pub(crate) fn each<U>(&self, f: impl Fn(&T) -> U) -> Steps<U> {
        let [babies, giants] = [&self.babies, &self.giants].map(|steps| steps.iter().map(&f).collect());
        Steps { babies, giants }
    }

    /// Number of diagonals, zeros included.
    fn count(&self) -> usize {
        self.babies.len() * self.giants.len()
    }
}

impl Level {
    /// Type of the diagonals of a linear map.
    pub(crate) fn diagonals_type<T>(&self, steps: &Steps<T>) -> Result<PolyType> {
        Ok(self.extended_type().vector(steps.count())?)
    }

    /// The image of a ciphertext under a linear map, rescaled.
    pub(crate) fn linear<'p>(
        &self,
        p: &'p Pipeline,
        ciphertext: Value<'p>,
        steps: &Steps<u64>,
        diagonals: Value<'p>,
        keys: &BTreeMap<u64, Value<'p>>,
    ) -> Result<Value<'p>> {
        let (limbs, all) = (self.plaintext_type().basis().len(), self.extended_type().basis().len());
        let [c0, c1] = [0, 1].map(|part| ciphertext.element(part));
        let product = self.product_of_special();
        let key = |k: &u64| keys.get(k).copied().ok_or(crate::rlwe::Error::NoRotationKey { steps: *k as usize });
        let digits = steps.babies.iter().any(|&k| k != 1).then(|| self.raised(c1));
        let special = self.extended_type().limbs(limbs..all)?;
        let mut babies = Vec::new();
        for k in &steps.babies {
            match &digits {
                Some(digits) if *k != 1 => {
                    let images = digits.clone().automorphism(*k).plus(c0, &product, &[]);
                    babies.push(images.inner_product(key(k)?, 2));
                }
                _ => {
                    let zero = self.integer_in(p, 0.0, &special);
                    babies.extend([c0, c1].map(|part| p.join(self.extended_type(), &[part.scale(&product), zero])));
                }
            }
        }
        let (pair, pairs) = (self.extended_type().vector(2)?, self.extended_type().vector(2 * steps.babies.len())?);
        let (giants, joined) = (steps.giants.len(), p.join(pairs, &babies));
        let both = joined.inner_product(pair, diagonals, giants);
        let [s0, s1] = [0, 1].map(|part| both.limbs(part * giants * all..(part + 1) * giants * all));
        let mut sums = [s0.element(0), s1.element(0)];
        let others = giants - 1;
        if others > 0 {
            let rest = s1.limbs(all..(others + 1) * all);
            let divided = if others > 1 { rest.each() } else { rest }.divide_round(self.special());
            let digits = self.raised(divided);
            for (i, k) in steps.giants[1..].iter().enumerate() {
                let switched = digits.element(i).automorphism(*k).inner_product(key(k)?, 2);
                let first = switched.element(0) + s0.element(i + 1).automorphism(*k);
                sums = [sums[0] + first, sums[1] + switched.element(1)];
            }
        }
        Ok(p.join(self.extended_type().vector(2)?, &sums).each().divide_round(self.special() + self.drop).together())
    }
}

/// The number that is congruent to `d` modulo the number of slots, from −slots/2 + 1 to slots/2.
fn centred(d: i64, slots: usize) -> i64 {
    let d = d.rem_euclid(slots as i64);
    if 2 * d > slots as i64 { d - slots as i64 } else { d }
}

/// The baby and giant steps for diagonals at these ascending distances: each distance is a sum of two steps. Their
/// number is the least if a giant step counts twice, because it takes a ModUp of its own.
fn cut(distances: &[i64]) -> Steps<i64> {
    let unit = distances.iter().fold(0, |unit, d| gcd(unit, *d)).max(1);
    let with = |count: i64| {
        let baby = |d: &i64| (d / unit).rem_euclid(count) * unit;
        let collect = |steps: &mut dyn Iterator<Item = i64>| -> Vec<i64> {
            let others: BTreeSet<i64> = steps.filter(|step| *step != 0).collect();
            core::iter::once(0).chain(others).collect()
        };
        let babies = collect(&mut distances.iter().map(baby));
        Steps { babies, giants: collect(&mut distances.iter().map(|d| d - baby(d))) }
    };
    let most = 4 * (distances.len().isqrt() as i64 + 1);
    let counts = (1..=most).map(with);
    counts.min_by_key(|steps| steps.babies.len() + 2 * steps.giants.len()).unwrap_or_else(|| with(1))
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}
