//! Operations on ciphertexts.

use ringforge_rlwe::{GaloisKeys, RelinearisationKey, SwitchingKey};

use crate::error::{Error, Result};
use crate::programs::{Operation, numbered};
use crate::scheme::Ckks;
use crate::types::{Ciphertext, Items, Plaintext};

/// Largest relative difference between the scales of two ciphertexts that may be added.
const ALIKE: f64 = 1.0 / (1u64 << 20) as f64;

impl Ckks {
    /// Adds two batches of ciphertexts, item by item.
    ///
    /// # Errors
    /// [`Error::Levels`], [`Error::Scales`] or [`Error::Batches`] if the operands differ in level, scale or number of
    /// items; [`Foreign`](crate::rlwe::Error::Foreign) if an operand was made for parameters other than this scheme's;
    /// [`Error::Engine`] if the engine fails.
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.linear(Operation::Add, a, b)
    }

    /// Subtracts `b` from `a`, item by item.
    ///
    /// # Errors
    /// The errors of [`Ckks::add`].
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.linear(Operation::Sub, a, b)
    }

    fn linear(&self, operation: Operation, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.alike(&a.0, &b.0)?;
        self.same_scale(&a.0, &b.0)?;
        let Items { level, scale, batch, .. } = a.0;
        let program = self.program(operation, level, batch)?;
        self.ciphertext(level, scale, batch, |to| {
            let call = program.on(self.stream()?, batch).input("a", &a.0.buffer).input("b", &b.0.buffer);
            Ok(call.output("to", to).run()?)
        })
    }

    /// Negates each ciphertext of the batch.
    ///
    /// # Errors
    /// [`Foreign`](crate::rlwe::Error::Foreign) if an argument was made for parameters other than this scheme's;
    /// [`Error::Engine`] if the engine fails.
    pub fn negate(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.turned(Operation::Negate, a, a.level(), a.scale())
    }

    /// Adds plaintexts to ciphertexts: one plaintext per item, or one plaintext to all items.
    ///
    /// # Errors
    /// The errors of [`Ckks::add`].
    pub fn add_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.same_scale(&a.0, &b.0)?;
        self.with_plain(a, b, a.scale(), |shared| Operation::AddPlain { shared })
    }

    /// Subtracts plaintexts from ciphertexts: one plaintext per item, or one plaintext from all items.
    ///
    /// # Errors
    /// The errors of [`Ckks::add`].
    pub fn sub_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.same_scale(&a.0, &b.0)?;
        self.with_plain(a, b, a.scale(), |shared| Operation::SubPlain { shared })
    }

    /// Multiplies ciphertexts with plaintexts: one plaintext per item, or one plaintext for all items. The scale of the
    /// result is the product of both scales.
    ///
    /// # Errors
    /// The errors of [`Ckks::add`], except [`Error::Scales`]; [`Error::Scale`] unless the new scale is below half of
    /// the modulus.
    pub fn multiply_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        let scale = self.product_scale(&a.0, &b.0)?;
        self.with_plain(a, b, scale, |shared| Operation::MultiplyPlain { shared })
    }

    fn with_plain(
        &self,
        a: &Ciphertext,
        b: &Plaintext,
        scale: f64,
        operation: impl Fn(bool) -> Operation,
    ) -> Result<Ciphertext> {
        let shared = b.batch() == 1;
        if shared {
            self.alike_but_for_batch(&a.0, &b.0)?;
        } else {
            self.alike(&a.0, &b.0)?;
        }
        let (level, batch) = (a.level(), a.batch());
        let program = self.program(operation(shared), level, batch)?;
        self.ciphertext(level, scale, batch, |to| {
            let call = program.on(self.stream()?, batch).input("a", &a.0.buffer).input("b", &b.0.buffer);
            Ok(call.output("to", to).run()?)
        })
    }

    /// Adds one number to every slot.
    ///
    /// # Errors
    /// The errors of [`Ckks::constant`] and [`Ckks::add_plain`].
    pub fn add_number(&self, a: &Ciphertext, number: f64) -> Result<Ciphertext> {
        self.add_plain(a, &self.constant(number, a.level(), a.scale())?)
    }

    /// Multiplies every slot by one number, encoded at the parameters' scale.
    ///
    /// # Errors
    /// The errors of [`Ckks::constant`] and [`Ckks::multiply_plain`].
    pub fn multiply_number(&self, a: &Ciphertext, number: f64) -> Result<Ciphertext> {
        self.multiply_plain(a, &self.constant(number, a.level(), self.parameters().scale())?)
    }

    /// Multiplies two batches of ciphertexts, item by item, and relinearises the products. The scale of the result is
    /// the product of both scales.
    ///
    /// # Errors
    /// The errors of [`Ckks::multiply_plain`]; [`Foreign`](crate::rlwe::Error::Foreign) also if the key was made for
    /// parameters other than this scheme's.
    pub fn multiply(&self, a: &Ciphertext, b: &Ciphertext, key: &RelinearisationKey) -> Result<Ciphertext> {
        self.product(a, Some(b), key, false)
    }

    /// Multiplies item by item, relinearises and rescales. Faster than [`Ckks::multiply`] and then [`Ckks::rescale`],
    /// with slightly less noise.
    ///
    /// # Errors
    /// The errors of [`Ckks::multiply`] and [`Ckks::rescale`].
    pub fn multiply_rescale(&self, a: &Ciphertext, b: &Ciphertext, key: &RelinearisationKey) -> Result<Ciphertext> {
        self.product(a, Some(b), key, true)
    }

    /// Squares each ciphertext of the batch and relinearises the squares. The scale of the result is the square of the
    /// scale.
    ///
    /// # Errors
    /// The errors of [`Ckks::multiply`].
    pub fn square(&self, a: &Ciphertext, key: &RelinearisationKey) -> Result<Ciphertext> {
        self.product(a, None, key, false)
    }

    fn product(
        &self,
        a: &Ciphertext,
        b: Option<&Ciphertext>,
        key: &RelinearisationKey,
        rescaled: bool,
    ) -> Result<Ciphertext> {
        let other = b.unwrap_or(a);
        self.alike(&a.0, &other.0)?;
        self.keys().own(key.parameters(), "the relinearisation key")?;
        let (level, batch, scale) = (a.level(), a.batch(), self.product_scale(&a.0, &other.0)?);
        let (to_level, scale) = if rescaled { self.rescaled(level, scale)? } else { (level, scale) };
        let program = self.program(Operation::Multiply { square: b.is_none(), rescaled }, level, batch)?;
        self.ciphertext(to_level, scale, batch, |to| {
            let call = program.on(self.stream()?, batch).input("a", &a.0.buffer).input("key", key.buffer());
            let call = match b {
                Some(b) => call.input("b", &b.0.buffer),
                None => call,
            };
            Ok(call.output("to", to).run()?)
        })
    }

    /// Divides by the primes that rescaling drops, and rounds. The result is one level lower, and its scale is the old
    /// scale divided by these primes.
    ///
    /// # Errors
    /// [`Error::NoLevel`] at level 0; [`Error::LowScale`] if the new scale would be below the rounding error, because
    /// no product raised the scale before; [`Error::Scale`] if the new scale does not fit the lower level;
    /// [`Foreign`](crate::rlwe::Error::Foreign) if `a` was made for parameters other than this scheme's;
    /// [`Error::Engine`] if the engine fails.
    pub fn rescale(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let (level, scale) = self.rescaled(a.level(), a.scale())?;
        self.turned(Operation::Rescale, a, level, scale)
    }

    /// Brings ciphertexts one level lower and close to the given scale, so that they can be added to others of that
    /// scale. Multiplies by the integer that leads closest to the scale, and then rescales. The encrypted numbers stay
    /// the same.
    ///
    /// # Errors
    /// The errors of [`Ckks::constant`], [`Ckks::multiply_plain`] and [`Ckks::rescale`]; [`Error::NoFactor`] if no
    /// integer leads to within a relative 2^-21 of the scale.
    pub fn rescale_to(&self, a: &Ciphertext, scale: f64) -> Result<Ciphertext> {
        let (_, rest) = self.below(a.level(), a.scale())?;
        let factor = (scale / rest).round();
        if !(factor >= 1.0 && (factor * rest / scale - 1.0).abs() < ALIKE / 2.0) {
            return Err(Error::NoFactor { from: a.scale(), step: rest, wanted: scale });
        }
        let raised = self.multiply_plain(a, &self.constant(1.0, a.level(), factor)?)?;
        self.rescale(&raised)
    }

    /// Returns the same encrypted numbers, with the same scale, at a lower level. Drops limbs without division.
    ///
    /// # Errors
    /// [`Error::NoLevel`] if `level` is above that of `a`; [`Error::Scale`] unless the scale is below half of the
    /// modulus at `level`; [`Foreign`](crate::rlwe::Error::Foreign) if `a` was made for parameters other than this
    /// scheme's; [`Error::Engine`] if the engine fails.
    pub fn drop_to(&self, a: &Ciphertext, level: usize) -> Result<Ciphertext> {
        if level > a.level() {
            return Err(Error::NoLevel { from: a.level(), wanted: level as i64 });
        }
        self.parameters().check_scale(a.scale(), level)?;
        let to = level;
        self.turned(Operation::Drop { to }, a, level, a.scale())
    }

    /// Rotates the slots by `steps` to the left (right if negative).
    ///
    /// # Errors
    /// [`NoRotationKey`](crate::rlwe::Error::NoRotationKey) if `keys` has no key for this rotation;
    /// [`Foreign`](crate::rlwe::Error::Foreign) if an argument was made for parameters other than this scheme's;
    /// [`Error::Engine`] if the engine fails.
    pub fn rotate(&self, a: &Ciphertext, steps: i64, keys: &GaloisKeys) -> Result<Ciphertext> {
        self.one(self.rotations(a, &[steps], keys)?)
    }

    /// Rotates the ciphertexts of `a` by each of `steps`, and returns one batch per step. The rotations are hoisted
    /// (Halevi–Shoup, eprint 2018/244): ModUp runs only once. Results are bit-identical to those of [`Ckks::rotate`].
    ///
    /// # Errors
    /// The errors of [`Ckks::rotate`].
    pub fn rotations(&self, a: &Ciphertext, steps: &[i64], keys: &GaloisKeys) -> Result<Vec<Ciphertext>> {
        self.keys().own(keys.parameters(), "the rotation keys")?;
        let found = steps.iter().map(|&steps| keys.rotation(steps)).collect::<Result<Vec<_>, _>>()?;
        let turns: Vec<_> = found.iter().copied().flatten().collect();
        let mut turned = self.automorphisms(a, &turns)?.into_iter();
        let not_turned =
            || self.ciphertext(a.level(), a.scale(), a.batch(), |to| Ok(self.stream()?.copy(&a.0.buffer, to)?));
        found.iter().map(|turn| turn.and_then(|_| turned.next()).map_or_else(not_turned, Ok)).collect()
    }

    /// Replaces the number in every slot by its complex conjugate.
    ///
    /// # Errors
    /// [`NoConjugationKey`](crate::rlwe::Error::NoConjugationKey) if `keys` has no key for conjugation;
    /// [`Foreign`](crate::rlwe::Error::Foreign) if an argument was made for parameters other than this scheme's;
    /// [`Error::Engine`] if the engine fails.
    pub fn conjugate(&self, a: &Ciphertext, keys: &GaloisKeys) -> Result<Ciphertext> {
        self.keys().own(keys.parameters(), "the rotation keys")?;
        self.one(self.automorphisms(a, &[keys.conjugation()?])?)
    }

    fn one(&self, made: Vec<Ciphertext>) -> Result<Ciphertext> {
        let got = made.len();
        made.into_iter().next().ok_or(Error::Batches { left: 1, right: got })
    }

    fn automorphisms(&self, a: &Ciphertext, turns: &[(u64, &SwitchingKey)]) -> Result<Vec<Ciphertext>> {
        self.own(&a.0.parameters, "the ciphertext")?;
        if turns.is_empty() {
            return Ok(Vec::new());
        }
        let (level, scale, batch) = (a.level(), a.scale(), a.batch());
        turns.iter().try_for_each(|(_, key)| key.serves(self.parameters().limbs(level)))?;
        let powers = turns.iter().map(|(k, key)| (*k, key.limbs())).collect();
        let program = self.program(Operation::Automorphisms(powers), level, batch)?;
        let size = batch * self.parameters().ciphertext_bytes(level);
        let mut to = turns.iter().map(|_| self.engine().device().buffer(size)).collect::<Result<Vec<_>, _>>()?;
        let mut call = program.on(self.stream()?, batch).input("a", &a.0.buffer);
        for (i, ((_, key), to)) in turns.iter().zip(&mut to).enumerate() {
            call = call.input(&numbered("key", i), key.buffer()).output(&numbered("to", i), to);
        }
        call.run()?;
        Ok(to.into_iter().map(|buffer| Ciphertext(self.items(buffer, level, scale, batch))).collect())
    }

    /// Inner product Σ c_i·p_i of the ciphertexts c_i in `c` and the plaintexts p_i in `plain`, in one pass. All items
    /// of a batch share the plaintexts.
    ///
    /// # Errors
    /// The errors of [`Ckks::multiply_plain`] and [`Ckks::add`]. [`Error::Batches`] if there are no terms, if the
    /// numbers of plaintexts and ciphertexts differ, or if a plaintext has a batch other than 1.
    pub fn inner_product_plain(&self, c: &[&Ciphertext], plain: &[&Plaintext]) -> Result<Ciphertext> {
        let terms = c.len();
        let (Some(first), Some(factor)) = (c.first(), plain.first()) else {
            return Err(Error::Batches { left: terms, right: plain.len() });
        };
        if terms != plain.len() {
            return Err(Error::Batches { left: terms, right: plain.len() });
        }
        let scale = self.product_scale(&first.0, &factor.0)?;
        for (c, plain) in c.iter().zip(plain) {
            self.alike(&first.0, &c.0)?;
            self.alike_but_for_batch(&first.0, &plain.0)?;
            self.same_scale(&first.0, &c.0)?;
            self.same_scale(&factor.0, &plain.0)?;
            if plain.batch() != 1 {
                return Err(Error::Batches { left: 1, right: plain.batch() });
            }
        }
        let (level, batch) = (first.level(), first.batch());
        let program = self.program(Operation::InnerPlain { terms }, level, batch)?;
        self.ciphertext(level, scale, batch, |to| {
            let mut call = program.on(self.stream()?, batch);
            for (i, (c, plain)) in c.iter().zip(plain).enumerate() {
                call = call.input(&numbered("c", i), &c.0.buffer).input(&numbered("p", i), &plain.0.buffer);
            }
            Ok(call.output("to", to).run()?)
        })
    }

    /// Runs an operation that takes one batch of ciphertexts and no key, such as rescaling.
    fn turned(&self, operation: Operation, a: &Ciphertext, to_level: usize, scale: f64) -> Result<Ciphertext> {
        self.own(&a.0.parameters, "the ciphertext")?;
        let batch = a.batch();
        let program = self.program(operation, a.level(), batch)?;
        self.ciphertext(to_level, scale, batch, |to| {
            Ok(program.on(self.stream()?, batch).input("a", &a.0.buffer).output("to", to).run()?)
        })
    }

    /// Returns the next lower level, and the scale after division by the primes that are dropped on the way. Returns
    /// [`Error::NoLevel`] at level 0.
    pub(crate) fn below(&self, level: usize, scale: f64) -> Result<(usize, f64)> {
        let Some(below) = level.checked_sub(1) else { return Err(Error::NoLevel { from: level, wanted: -1 }) };
        let parameters = self.parameters();
        let gone = &parameters.q()[parameters.limbs(below)..parameters.limbs(level)];
        let divided = gone.iter().filter_map(|q| q.value_u64()).fold(scale, |scale, q| scale / q as f64);
        Ok((below, divided))
    }

    /// Returns level and scale after rescaling. Returns [`Error::LowScale`] if the new scale is below the rounding
    /// error, and [`Error::Scale`] if it does not fit the new level.
    pub(crate) fn rescaled(&self, level: usize, scale: f64) -> Result<(usize, f64)> {
        let (level, scale) = self.below(level, scale)?;
        let least = self.parameters().rounding_error();
        if scale < least {
            return Err(Error::LowScale { scale, least });
        }
        self.parameters().check_scale(scale, level)?;
        Ok((level, scale))
    }

    /// Returns the scale of a product, or [`Error::Scale`] if it does not fit the level.
    pub(crate) fn product_scale(&self, a: &Items, b: &Items) -> Result<f64> {
        let scale = a.scale * b.scale;
        self.parameters().check_scale(scale, a.level)?;
        Ok(scale)
    }

    fn alike(&self, a: &Items, b: &Items) -> Result<()> {
        self.alike_but_for_batch(a, b)?;
        if a.batch != b.batch {
            return Err(Error::Batches { left: a.batch, right: b.batch });
        }
        Ok(())
    }

    fn alike_but_for_batch(&self, a: &Items, b: &Items) -> Result<()> {
        self.own(&a.parameters, "an operand")?;
        self.own(&b.parameters, "an operand")?;
        if a.level != b.level {
            return Err(Error::Levels { left: a.level, right: b.level });
        }
        Ok(())
    }

    fn same_scale(&self, a: &Items, b: &Items) -> Result<()> {
        let apart = (a.scale / b.scale - 1.0).abs();
        if apart <= ALIKE { Ok(()) } else { Err(Error::Scales { left: a.scale, right: b.scale }) }
    }
}
