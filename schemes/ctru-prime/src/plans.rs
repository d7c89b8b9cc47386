//! Pipelines of a parameter set's stages: the steps of batch operations, and the plans for prepared keys.

use ringforge::{Pipeline, Plan, Planner, Result, Value};
use ringforge_batch::{ENCAPSULATION_SEED, Made, Randomness, Steps};

use crate::kernels::{Keys, PrimeSteps, Stage};

/// Operations that prepare keys or use prepared ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prepared {
    /// Public keys → prepared public keys.
    PreparePublic,
    /// Secret keys → prepared secret keys for decryption. Re-encryption in decapsulation also needs the prepared public
    /// key.
    PrepareSecret,
    /// A prepared public key, seeds or randomness → ciphertexts, shared keys.
    EncapsulateToOne(Randomness),
    /// A prepared secret key, its prepared public key, ciphertexts → shared keys.
    DecapsulateWithOne,
}

impl PrimeSteps {
    /// The same steps with keys in this form.
    const fn keys(self, keys: Keys) -> Self {
        Self { keys, ..self }
    }

    /// The plan of an operation on prepared keys.
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

    /// Residues modulo q, numbers from −η to η, both as 16-bit words → products modulo q and x^n − x − 1.
    #[cfg(feature = "testkit")]
    pub(crate) fn multiply(&self, planner: &Planner) -> Result<Plan> {
        let p = self.pipeline("multiply", planner);
        let factors = ["large", "small"].map(|name| p.input(name));
        let [product] = self.step(&p, Stage::Multiply, &factors)?;
        p.output("product", product);
        p.build()
    }

    /// Decapsulates with the key for decryption and the key for re-encryption.
    fn decapsulate_with<'p>(
        &self,
        p: &'p Pipeline,
        [secret, public]: [Value<'p>; 2],
        ciphertexts: Value<'p>,
    ) -> Result<Made<'p, 1>> {
        let [messages, rejections, statuses] = self.step(p, Stage::Decrypt, &[secret, ciphertexts])?;
        // this kernel reads no key, so it is the same one for every form of keys
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

    /// Any bytes are a valid public key.
    fn check_public<'p>(&self, _: &'p Pipeline, _: Value<'p>) -> Result<Option<Value<'p>>> {
        Ok(None)
    }

    fn check_secret<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>) -> Result<Option<Value<'p>>> {
        let [statuses] = self.step(p, Stage::CheckSecret, &[secret_keys])?;
        Ok(Some(statuses))
    }
}
