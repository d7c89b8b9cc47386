//! Bootstrapping: ciphertexts of a low level become ciphertexts of a high level, with the same numbers.
//!
//! The order is that of "slim" bootstrapping (Chen, Chillotti and Song, eprint 2018/1043):
//!
//! | step | levels | what it does |
//! | --- | --- | --- |
//! | slots to coefficients | 3 | The numbers z become coefficients, Δ_0·z modulo q_0. |
//! | raising | | All primes of Q come back. The coefficients become Δ_0·z + q_0·I with small integers I. |
//! | coefficients to slots | 4 | The slots hold x = z/r + I, for the message ratio r = q_0/Δ_0. |
//! | sine | 8 | The slots hold sin(2πx)/2π·r, which is nearly z. |
//!
//! Between the two linear maps, coefficients are in bit-reversed order. Nothing there depends on the order.
//!
//! During raising, ciphertexts are under an ephemeral sparse secret (Bossuat, Troncoso-Pastoriza and Hubaux, eprint
//! 2022/024). Its weight of 32 bounds I by 16 for every ciphertext, so the sine is never evaluated outside its interval.

mod cosine;
mod layout;
mod raising;
mod stages;

use layout::{Layout, Stage};
use raising::RaisingKeys;

use std::collections::BTreeMap;

use num_complex::Complex64;
use ringforge::{Pipeline, Value};
use ringforge_rlwe::{GaloisKeys, Randomness, RelinearisationKey, SecretKey, conjugation, rotation};

use crate::error::{Error, Result};
use crate::linear::LinearMap;
use crate::memory::Memory;
use crate::polynomial::Polynomial;
use crate::programs::Programmed;
use crate::scheme::Ckks;
use crate::steps::Level;
use crate::types::{Ciphertext, Plaintext};

/// How many levels the linear maps of bootstrapping take, and its message ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootstrapPlan {
    /// Levels, and linear maps, from slots to coefficients: 3 by default.
    pub slots_to_coefficients: usize,
    /// Levels, and linear maps, from coefficients to slots: 4 by default. Fewer levels take more time.
    pub coefficients_to_slots: usize,
    /// log2 of the message ratio r: 14 by default. The sine distorts z by a relative (2π·|z|/r)²/6, and the noise of
    /// its evaluation is multiplied by r.
    pub log_ratio: u32,
}

impl Default for BootstrapPlan {
    fn default() -> Self {
        Self { slots_to_coefficients: 3, coefficients_to_slots: 4, log_ratio: 14 }
    }
}

/// Bootstrapping for one scheme: encoded linear maps, and the levels of its steps.
///
/// The primes of Q are, from q_0 on: q_0; one for each level that users have, of the bits of their scale; 8 for the
/// sine; and those from coefficients to slots. The sine should have the longest primes, because its noise is multiplied
/// by the message ratio. With `rescaling_by(2)`, each of these is two primes.
///
/// ```
/// use ringforge_ckks::ringforge::Engine;
/// use ringforge_ckks::{BootstrapPlan, Bootstrapper, Ckks, Parameters, Randomness};
///
/// // too small to be secure: 3 levels to bootstrap from, 2 that remain, 8 for the sine, 4 from coefficients to slots
/// let bits = [&[60][..], &[40; 5], &[60; 8], &[57; 4]].concat();
/// let ckks = Ckks::new(&Engine::best(), Parameters::insecure(10, &bits, &[61; 6])?.with_scale(2f64.powi(40))?)?;
/// let mut random = Randomness::system();
/// let (secret, plan) = (ckks.keys().secret_key(&mut random)?, BootstrapPlan::default());
/// let public = ckks.keys().public_key(&secret, &mut random)?;
/// let bootstrapper = Bootstrapper::new(&ckks, plan)?;
/// let keys = bootstrapper.keys(&secret, &mut random)?;
///
/// let worn = ckks.encrypt(&ckks.encode(&[vec![0.75.into(); 512]], 3)?, &public, &mut random)?;
/// let fresh = bootstrapper.run(&worn, &keys)?;
/// assert_eq!((worn.level(), fresh.level()), (3, 5));
/// assert!((ckks.decrypt(&fresh, &secret)?[0][17].re - 0.75).abs() < 1e-6);
/// # Ok::<(), ringforge_ckks::Error>(())
/// ```
#[derive(Debug)]
pub struct Bootstrapper {
    ckks: Ckks,
    to_coefficients: Vec<LinearMap>,
    to_slots: Vec<LinearMap>,
    cosine: Polynomial,
    /// Scales of the sine's powers, and of its result.
    scales: [f64; 2],
    /// The number i in all slots, at the levels before and after the sine.
    imaginary: [Plaintext; 2],
}

/// Keys for bootstrapping.
#[derive(Debug)]
pub struct BootstrapKeys {
    raising: RaisingKeys,
    turn: GaloisKeys,
    multiply: RelinearisationKey,
}

impl BootstrapKeys {
    /// Bytes of all keys on the device.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.turn.bytes() + self.multiply.buffer().len() + self.raising.bytes()
    }
}

impl Bootstrapper {
    /// Encodes the linear maps of bootstrapping. They depend on no key.
    ///
    /// # Errors
    /// [`Parameters`](crate::rlwe::Error::Parameters) if the parameters have too few levels, if P has fewer bits than
    /// q_0, or if q_0 has too many bits for the sparse secret; [`Error::Scale`] or [`Error::Number`] if the maps do not
    /// fit their levels; [`Error::Engine`] if the engine fails.
    pub fn new(ckks: &Ckks, plan: BootstrapPlan) -> Result<Self> {
        let layout = Layout::new(ckks, plan)?;
        let encoded = |stages: &[Stage]| -> Result<Vec<LinearMap>> {
            stages.iter().map(|stage| ckks.linear_map_at(&stage.diagonals, stage.level, stage.scale)).collect()
        };
        let [to_coefficients, to_slots] = [&layout.to_coefficients, &layout.to_slots].map(|stages| encoded(stages));
        let i = [vec![Complex64::I; ckks.parameters().slots()]];
        let [before, after] = [layout.sine, layout.output].map(|level| ckks.encode_at(&i, level, 1.0));
        Ok(Self {
            ckks: ckks.clone(),
            to_coefficients: to_coefficients?,
            to_slots: to_slots?,
            cosine: layout.cosine,
            scales: layout.scales,
            imaginary: [before?, after?],
        })
    }

    /// Predicts the peak device memory of bootstrapping batches of this size, keys and operands included. Linear maps
    /// count as tables. Allocates nothing on the device.
    ///
    /// # Errors
    /// The errors of [`Bootstrapper::new`].
    pub fn memory(ckks: &Ckks, plan: BootstrapPlan, batch: usize) -> Result<Memory> {
        Layout::new(ckks, plan)?.memory(ckks, batch)
    }

    /// The level from which ciphertexts are bootstrapped; higher ones are dropped to it.
    #[must_use]
    pub fn input_level(&self) -> usize {
        self.to_coefficients.len()
    }

    /// The level of bootstrapped ciphertexts.
    #[must_use]
    pub fn output_level(&self) -> usize {
        self.imaginary[1].level()
    }

    /// Generates the keys of bootstrapping for a secret key.
    ///
    /// # Errors
    /// The errors of [`KeyGenerator::public_key`](crate::KeyGenerator::public_key).
    pub fn keys(&self, secret: &SecretKey, randomness: &mut Randomness) -> Result<BootstrapKeys> {
        let ckks = &self.ckks;
        let maps = self.to_coefficients.iter().chain(&self.to_slots).map(|map| (map.level(), map.rotations()));
        Ok(BootstrapKeys {
            raising: RaisingKeys::new(ckks, secret, randomness)?,
            turn: ckks.keys().trimmed_galois_keys(
                secret,
                &automorphisms(ckks, self.imaginary[0].level(), maps),
                randomness,
            )?,
            multiply: ckks.keys().relinearisation_key(secret, randomness)?,
        })
    }

    /// Bootstraps ciphertexts: the result has the same numbers and the same scale at [`Bootstrapper::output_level`].
    ///
    /// Numbers should be at most about 1 in absolute value. Larger ones are distorted more, and those above a quarter
    /// of the message ratio are wrong.
    ///
    /// # Errors
    /// [`Error::NoLevel`] if `a` is below [`Bootstrapper::input_level`]; the errors of [`Ckks::apply`] and
    /// [`Ckks::evaluate`].
    pub fn run(&self, a: &Ciphertext, keys: &BootstrapKeys) -> Result<Ciphertext> {
        self.with(a, keys, false)
    }

    /// Bootstraps like [`Bootstrapper::run`], but for real numbers, in less time. Imaginary parts are lost.
    ///
    /// # Errors
    /// The errors of [`Bootstrapper::run`].
    pub fn run_real(&self, a: &Ciphertext, keys: &BootstrapKeys) -> Result<Ciphertext> {
        self.with(a, keys, true)
    }

    fn with(&self, a: &Ciphertext, keys: &BootstrapKeys, real: bool) -> Result<Ciphertext> {
        let (ckks, level) = (&self.ckks, self.input_level());
        if a.level() < level {
            return Err(Error::NoLevel { from: a.level(), wanted: level as i64 });
        }
        let coefficients = self.applied(&self.to_coefficients, ckks.drop_to(a, level)?, keys)?;
        let slots = self.applied(&self.to_slots, keys.raising.raised(ckks, &coefficients)?, keys)?;
        let parts = self.split(&slots, keys, real)?;
        let Ciphertext(mut items) = ckks.evaluate_with(&self.cosine, &parts, self.scales, &keys.multiply)?;
        items.scale = a.scale();
        if real { Ok(Ciphertext(items)) } else { self.united(&Ciphertext(items)) }
    }

    fn applied(&self, maps: &[LinearMap], a: Ciphertext, keys: &BootstrapKeys) -> Result<Ciphertext> {
        maps.iter().try_fold(a, |a, map| self.ckks.apply(map, &a, &keys.turn))
    }

    /// The real parts of all slots and, unless `real`, after each ciphertext of them one of the imaginary parts. All
    /// are twice as large.
    fn split(&self, a: &Ciphertext, keys: &BootstrapKeys, real: bool) -> Result<Ciphertext> {
        let (ckks, (_, key)) = (&self.ckks, keys.turn.conjugation()?);
        let program = ckks.program(SlotOperation::Split { real, key: key.limbs() }, a.level(), a.batch())?;
        let parts = if real { 1 } else { 2 };
        ckks.ciphertext(a.level(), a.scale(), parts * a.batch(), |to| {
            let call = program.on(ckks.stream()?, a.batch()).input("a", &a.0.buffer).input("key", key.buffer());
            let call = if real { call } else { call.input("i", &self.imaginary[0].0.buffer) };
            Ok(call.output("to", to).run()?)
        })
    }

    /// Ciphertexts with these real and imaginary parts.
    fn united(&self, parts: &Ciphertext) -> Result<Ciphertext> {
        let (ckks, batch) = (&self.ckks, parts.batch() / 2);
        let program = ckks.program(SlotOperation::Unite, parts.level(), batch)?;
        ckks.ciphertext(parts.level(), parts.scale(), batch, |to| {
            let call = program.on(ckks.stream()?, batch).input("a", &parts.0.buffer);
            Ok(call.input("i", &self.imaginary[1].0.buffer).output("to", to).run()?)
        })
    }
}

/// An operation on the slots before or after the sine.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SlotOperation {
    /// The real parts of slots and, unless they are real, the imaginary parts: twice as many ciphertexts. With the
    /// number of primes of the key for conjugation.
    Split { real: bool, key: usize },
    /// Ciphertexts with such real and imaginary parts.
    Unite,
}

impl Programmed for SlotOperation {
    fn build(&self, ckks: &Ckks, level: usize, p: &Pipeline) -> Result<()> {
        let steps = ckks.level(level)?;
        let to = match *self {
            Self::Split { real, key } => {
                let key = ckks.keys().basis(key)?.trimmed_key(p, "key")?;
                let i = (!real).then(|| steps.plaintext(p, "i", true));
                let conjugation = conjugation(ckks.parameters().rlwe());
                steps.split(p, steps.ciphertext(p, "a"), (conjugation, key), i)?
            }
            Self::Unite => {
                let both = p.elements("a", steps.plaintext_type().vector(4)?);
                steps.united(p, both, steps.plaintext(p, "i", true))
            }
        };
        p.output("to", to);
        Ok(())
    }
}

/// The automorphisms x → x^k that need keys, and the most primes of Q with which each is used: of the sine, and of
/// linear maps at these levels with these rotations.
fn automorphisms(ckks: &Ckks, sine: usize, maps: impl Iterator<Item = (usize, Vec<i64>)>) -> BTreeMap<u64, usize> {
    let (parameters, rlwe) = (ckks.parameters(), ckks.parameters().rlwe());
    let mut limbs = BTreeMap::from([(conjugation(rlwe), parameters.limbs(sine))]);
    for (level, rotations) in maps {
        for steps in rotations {
            let most = limbs.entry(rotation(rlwe, steps).1).or_default();
            *most = parameters.limbs(level).max(*most);
        }
    }
    limbs
}

impl Level {
    /// w + w̄ for a ciphertext w and, if the number `i` is given, also i·(w̄ − w). These are twice the real and the
    /// imaginary part.
    pub(crate) fn split<'p>(
        &self,
        p: &'p Pipeline,
        w: Value<'p>,
        (conjugation, key): (u64, Value<'p>),
        i: Option<Value<'p>>,
    ) -> Result<Value<'p>> {
        let conjugate = self.automorphism(conjugation, w.element(0), &self.raised(w.element(1)), key);
        let real = w + conjugate;
        let Some(i) = i else { return Ok(real) };
        let imaginary = conjugate - w;
        let [i0, i1] = [0, 1].map(|part| imaginary.element(part) * i);
        Ok(p.join(self.plaintext_type().vector(4)?, &[real.element(0), real.element(1), i0, i1]))
    }

    /// x + i·y, for ciphertexts x and y one after the other.
    pub(crate) fn united<'p>(&self, p: &'p Pipeline, both: Value<'p>, i: Value<'p>) -> Value<'p> {
        let part = |part: usize| both.element(part) + both.element(2 + part) * i;
        p.join(self.ciphertext_type(), &[part(0), part(1)])
    }
}
