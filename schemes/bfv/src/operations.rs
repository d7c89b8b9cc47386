//! Operations on ciphertexts.

use ringforge_rlwe::{GaloisKeys, RelinearisationKey, SwitchingKey};

use crate::error::{Error, Result};
use crate::programs::Operation;
use crate::scheme::Bfv;
use crate::types::{Ciphertext, Plaintext};

impl Bfv {
    /// Adds two batches of ciphertexts, item by item.
    ///
    /// # Errors
    /// [`Error::Batches`] if the operands differ in number of items; [`Foreign`](ringforge_rlwe::Error::Foreign) if an
    /// operand was made for parameters other than this scheme's; [`Error::Engine`] if the engine fails.
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.linear(Operation::Add, a, b)
    }

    /// Subtracts `b` from `a`, item by item.
    ///
    /// # Errors
    /// The errors of [`Bfv::add`].
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.linear(Operation::Sub, a, b)
    }

    fn linear(&self, operation: Operation, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.alike(a, b)?;
        let (program, batch) = (self.program(operation, a.batch())?, a.batch());
        self.ciphertext(batch, |to| {
            let call = program.on(self.stream()?, batch).input("a", a.buffer()).input("b", b.buffer());
            Ok(call.output("to", to).run()?)
        })
    }

    /// Negates each ciphertext of the batch.
    ///
    /// # Errors
    /// The errors of [`Bfv::add`].
    pub fn negate(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.own(&a.0, "the ciphertext")?;
        let (program, batch) = (self.program(Operation::Negate, a.batch())?, a.batch());
        self.ciphertext(batch, |to| {
            Ok(program.on(self.stream()?, batch).input("a", a.buffer()).output("to", to).run()?)
        })
    }

    /// Adds plaintexts to ciphertexts: one plaintext per item, or one plaintext to all items.
    ///
    /// # Errors
    /// The errors of [`Bfv::add`].
    pub fn add_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.with_plain(a, b, Operation::Scale, |shared| Operation::AddPlain { shared })
    }

    /// Subtracts plaintexts from ciphertexts: one plaintext per item, or one plaintext from all items.
    ///
    /// # Errors
    /// The errors of [`Bfv::add`].
    pub fn sub_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.with_plain(a, b, Operation::Scale, |shared| Operation::SubPlain { shared })
    }

    /// Multiplies ciphertexts with plaintexts: one plaintext per item, or one plaintext for all items.
    ///
    /// # Errors
    /// The errors of [`Bfv::add`].
    pub fn multiply_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.with_plain(a, b, Operation::Lift, |shared| Operation::MultiplyPlain { shared })
    }

    fn with_plain(
        &self,
        a: &Ciphertext,
        b: &Plaintext,
        prepare: Operation,
        operation: impl Fn(bool) -> Operation,
    ) -> Result<Ciphertext> {
        self.own(&a.0, "the ciphertext")?;
        let (batch, shared) = (a.batch(), b.batch() == 1);
        if !shared && batch != b.batch() {
            return Err(Error::Batches { left: batch, right: b.batch() });
        }
        let (b, program) = (self.prepared(b, prepare)?, self.program(operation(shared), batch)?);
        self.ciphertext(batch, |to| {
            Ok(program.on(self.stream()?, batch).input("a", a.buffer()).input("b", &b).output("to", to).run()?)
        })
    }

    /// Multiplies two batches of ciphertexts, item by item, and relinearises the products.
    ///
    /// # Errors
    /// The errors of [`Bfv::add`]; [`Foreign`](ringforge_rlwe::Error::Foreign) also if the key was made for parameters
    /// other than this scheme's.
    pub fn multiply(&self, a: &Ciphertext, b: &Ciphertext, key: &RelinearisationKey) -> Result<Ciphertext> {
        self.product(a, Some(b), key)
    }

    /// Squares each ciphertext of the batch and relinearises the squares. Faster than a product.
    ///
    /// # Errors
    /// The errors of [`Bfv::multiply`].
    pub fn square(&self, a: &Ciphertext, key: &RelinearisationKey) -> Result<Ciphertext> {
        self.product(a, None, key)
    }

    fn product(&self, a: &Ciphertext, b: Option<&Ciphertext>, key: &RelinearisationKey) -> Result<Ciphertext> {
        self.alike(a, b.unwrap_or(a))?;
        self.keys().own(key.parameters(), "the relinearisation key")?;
        let (program, batch) = (self.program(Operation::Multiply { square: b.is_none() }, a.batch())?, a.batch());
        self.ciphertext(batch, |to| {
            let call = program.on(self.stream()?, batch).input("a", a.buffer()).input("key", key.buffer());
            let call = b.into_iter().fold(call, |call, b| call.input("b", b.buffer()));
            Ok(call.output("to", to).run()?)
        })
    }

    /// Rotates both rows of slots by `steps` to the left (right if negative).
    ///
    /// # Errors
    /// [`NoRotationKey`](ringforge_rlwe::Error::NoRotationKey) if `keys` has no key for this rotation,
    /// [`Trimmed`](ringforge_rlwe::Error::Trimmed) if it is for fewer primes;
    /// [`Foreign`](ringforge_rlwe::Error::Foreign) if an argument was made for parameters other than this scheme's;
    /// [`Error::Engine`] if the engine fails.
    pub fn rotate_rows(&self, a: &Ciphertext, steps: i64, keys: &GaloisKeys) -> Result<Ciphertext> {
        self.keys().own(keys.parameters(), "the rotation keys")?;
        match keys.rotation(steps)? {
            Some(turn) => self.automorphism(a, turn),
            None => {
                self.own(&a.0, "the ciphertext")?;
                self.ciphertext(a.batch(), |to| Ok(self.stream()?.copy(a.buffer(), to)?))
            }
        }
    }

    /// Rotates the columns of slots by one, which exchanges the two rows.
    ///
    /// # Errors
    /// [`NoConjugationKey`](ringforge_rlwe::Error::NoConjugationKey) if `keys` has no key for it; the other errors of
    /// [`Bfv::rotate_rows`].
    pub fn rotate_columns(&self, a: &Ciphertext, keys: &GaloisKeys) -> Result<Ciphertext> {
        self.keys().own(keys.parameters(), "the rotation keys")?;
        self.automorphism(a, keys.conjugation()?)
    }

    fn automorphism(&self, a: &Ciphertext, (k, key): (u64, &SwitchingKey)) -> Result<Ciphertext> {
        self.own(&a.0, "the ciphertext")?;
        key.serves(self.parameters().q().len())?;
        let (program, batch) = (self.program(Operation::Automorphism(k), a.batch())?, a.batch());
        self.ciphertext(batch, |to| {
            let call = program.on(self.stream()?, batch).input("a", a.buffer()).input("key", key.buffer());
            Ok(call.output("to", to).run()?)
        })
    }

    fn alike(&self, a: &Ciphertext, b: &Ciphertext) -> Result<()> {
        self.own(&a.0, "an operand")?;
        self.own(&b.0, "an operand")?;
        match a.batch() == b.batch() {
            true => Ok(()),
            false => Err(Error::Batches { left: a.batch(), right: b.batch() }),
        }
    }
}
