//! The pipelines of batch operations: which kernels run, in which order, on which inputs. Also the plans for keys
//! in prepared form: with their polynomial as an operand of products.

use ringforge::{Pipeline, Plan, Planner, Result, Value};
use ringforge_batch::{ENCAPSULATION_SEED, Made, Randomness, Steps};

use crate::kernels::{Keys, PrimeSteps, Stage};

/// Operations that convert keys to the prepared form, with their polynomial as an operand of products, or that use such
/// a key for all items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prepared {
    /// Converts public keys to the prepared form.
    PreparePublic,
    /// Converts secret keys to the prepared form, for decryption. The re-encryption in decapsulation also needs the
    /// public key in prepared form.
    PrepareSecret,
    /// Encapsulates to one public key in prepared form, with seeds or with device randomness.
    EncapsulateToOne(Randomness),
    /// Decapsulates with one secret key and its public key, both in prepared form.
    DecapsulateWithOne,
}

impl PrimeSteps {
    /// Returns these settings with keys in another form.
    const fn keys(self, keys: Keys) -> Self {
        Self { keys, ..self }
    }

    /// Returns the plan of an operation on keys in prepared form.
    pub(crate) fn with_prepared(&self, task: Prepared, planner: &Planner) -> Result<Plan> {
        let p = self.pipeline(&format!("{task:?}"), planner);
        let (one, preparing) = (self.keys(Keys::One), self.keys(Keys::Prepared));
        match task {
            Prepared::PreparePublic => {
                let [prepared] = preparing.step(&p, Stage::PreparePublic, &[p.input("public keys")])?;
                p.output("prepared public keys", prepared);
            }
            Prepared::PrepareSecret => {
                let [prepared] = preparing.step(&p, Stage::PrepareSecret, &[p.input("secret keys")])?;
                p.output("prepared secret keys", prepared);
            }
            Prepared::EncapsulateToOne(from) => {
                let key = p.input("prepared public key");
                let (seeds, _) = from.seeds(&p, ENCAPSULATION_SEED)?;
                let ([ciphertexts, shared_keys], _) = one.encapsulate(&p, key, seeds)?;
                p.output("ciphertexts", ciphertexts);
                p.output("shared keys", shared_keys);
            }
            Prepared::DecapsulateWithOne => {
                let keys = ["prepared secret key", "prepared public key"].map(|name| p.input(name));
                let ([shared_keys], _) = one.decapsulate_with(&p, keys, p.input("ciphertexts"))?;
                p.output("shared keys", shared_keys);
            }
        }
        p.build()
    }

    /// Returns the plan of a product modulo q and x^n − x − 1: residues modulo q times numbers from −η to η, all as
    /// 16-bit words.
    #[cfg(feature = "testkit")]
    pub(crate) fn multiply(&self, planner: &Planner) -> Result<Plan> {
        let p = self.pipeline("multiply", planner);
        let factors = ["large", "small"].map(|name| p.input(name));
        let [product] = self.step(&p, Stage::Multiply, &factors)?;
        p.output("product", product);
        p.build()
    }

    /// Adds the kernels of decapsulation, with a secret key for decryption and a public key for re-encryption. Returns
    /// the shared keys and their statuses.
    fn decapsulate_with<'p>(
        &self,
        p: &'p Pipeline,
        [secret, public]: [Value<'p>; 2],
        ciphertexts: Value<'p>,
    ) -> Result<Made<'p, 1>> {
        let [messages, rejections, statuses] = self.step(p, Stage::Decrypt, &[secret, ciphertexts])?;
        // this kernel reads no key; with plain keys in its settings, all plans use the same compiled kernel
        let plain = self.keys(Keys::Plain);
        let [both_keys, coins, statuses] = plain.step(p, Stage::Decapsulate, &[messages, rejections, statuses])?;
        let compared = [public, ciphertexts, messages, coins, both_keys, statuses];
        let [statuses, shared_keys] = self.step(p, Stage::Compare, &compared)?;
        Ok(([shared_keys], Some(statuses)))
    }

    fn step<'p, const N: usize>(&self, p: &'p Pipeline, stage: Stage, inputs: &[Value<'p>]) -> Result<[Value<'p>; N]> {
        Ok(p.step(self.kernel(stage, p.limits())?, inputs))
    }

    fn pipeline(&self, what: &str, planner: &Planner) -> Pipeline {
        planner.pipeline(format!("{} {what}", self.parameters().name))
    }
}

impl Steps for PrimeSteps {
    fn generate<'p>(&self, p: &'p Pipeline, seeds: Value<'p>, _: Option<Value<'p>>) -> Result<Made<'p, 2>> {
        let [coins] = self.step(p, Stage::Expand, &[seeds])?;
        let [numerators, products] = self.step(p, Stage::Gather, &[coins])?;
        let [inverses] = self.step(p, Stage::Invert, &[products])?;
        Ok((self.step(p, Stage::Generate, &[seeds, coins, numerators, inverses])?, None))
    }

    fn encapsulate<'p>(&self, p: &'p Pipeline, public_keys: Value<'p>, seeds: Value<'p>) -> Result<Made<'p, 2>> {
        let [messages, coins, shared_keys] = self.step(p, Stage::Encapsulate, &[public_keys, seeds])?;
        let [ciphertexts] = self.step(p, Stage::Encrypt, &[public_keys, messages, coins])?;
        Ok(([ciphertexts, shared_keys], None))
    }

    fn decapsulate<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>, ciphertexts: Value<'p>) -> Result<Made<'p, 1>> {
        self.decapsulate_with(p, [secret_keys; 2], ciphertexts)
    }

    /// Returns no status, because any bytes are a valid public key.
    fn check_public<'p>(&self, _: &'p Pipeline, _: Value<'p>) -> Result<Option<Value<'p>>> {
        Ok(None)
    }

    fn check_secret<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>) -> Result<Option<Value<'p>>> {
        let [statuses] = self.step(p, Stage::CheckSecret, &[secret_keys])?;
        Ok(Some(statuses))
    }
}
