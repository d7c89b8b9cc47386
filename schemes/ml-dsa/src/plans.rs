//! The operations of ML-DSA as sequences of stages, from which plans are built.

use ringforge::{Pipeline, Result, Value};
use ringforge_batch::{Keys, Prepared, SignatureSteps};

use crate::kernels::{Stage, kernel};
use crate::params::{HEAD, Parameters, SEED};

impl Parameters {
    /// Adds a stage to the pipeline and returns its outputs.
    #[track_caller]
    fn step<'p, const N: usize>(&self, stage: Stage, p: &'p Pipeline, inputs: &[Value<'p>]) -> Result<[Value<'p>; N]> {
        Ok(p.step(kernel(stage, self, p.limits())?, inputs))
    }
}

impl SignatureSteps for Parameters {
    fn generate<'p>(&self, p: &'p Pipeline, seeds: Value<'p>) -> Result<[Value<'p>; 2]> {
        let [rho, secret, key] = self.step(Stage::Seed, p, &[seeds])?;
        let [matrix] = self.step(Stage::Matrix, p, &[rho])?;
        let [small] = self.step(Stage::Secrets, p, &[secret])?;
        let [_, public_key, secret_key] = self.step(Stage::Generate, p, &[rho, key, matrix, small])?;
        let [secret_key] = self.step(Stage::Finish, p, &[public_key, secret_key])?;
        Ok([public_key, secret_key])
    }

    fn signing_keys<'p>(&self, p: &'p Pipeline, secret_keys: Value<'p>) -> Result<Prepared<Value<'p>>> {
        let [common] = self.step(Stage::Matrix, p, &[secret_keys.part(0..SEED)])?;
        let [secret] = self.step(Stage::ExpandKey, p, &[secret_keys])?;
        let [public] = self.step(Stage::PublicValues, p, &[common, secret])?;
        Ok(Prepared { hash: secret_keys.part(2 * SEED..HEAD), common, public, secret: Some(secret) })
    }

    fn verifying_keys<'p>(&self, p: &'p Pipeline, public_keys: Value<'p>) -> Result<Prepared<Value<'p>>> {
        let [hash] = self.step(Stage::HashKey, p, &[public_keys])?;
        let [common] = self.step(Stage::Matrix, p, &[public_keys.part(0..SEED)])?;
        let [public] = self.step(Stage::KeyValues, p, &[public_keys])?;
        Ok(Prepared { hash, common, public, secret: None })
    }

    fn represent<'p>(
        &self,
        p: &'p Pipeline,
        keys: Keys,
        hash: Value<'p>,
        slots: Value<'p>,
        slot: usize,
    ) -> Result<Value<'p>> {
        let [mu] = self.step(Stage::Message { slot, one_key: keys.is_one() }, p, &[hash, slots])?;
        Ok(mu)
    }

    fn begin<'p>(&self, p: &'p Pipeline, keys: Keys, [secret_keys, random, mu]: [Value<'p>; 3]) -> Result<Value<'p>> {
        let [seed] = self.step(Stage::Begin { one_key: keys.is_one() }, p, &[secret_keys, random, mu])?;
        Ok(seed)
    }

    fn attempt<'p>(
        &self,
        p: &'p Pipeline,
        keys: Keys,
        [matrix, secret]: [Value<'p>; 2],
        [mu, seed, attempt]: [Value<'p>; 3],
    ) -> Result<[Value<'p>; 2]> {
        let one_key = keys.is_one();
        let [masks] = self.step(Stage::Mask, p, &[seed, attempt])?;
        let [_, commitments, high] = self.step(Stage::Commit { one_key }, p, &[matrix, masks])?;
        let [hash, challenge] = self.step(Stage::Challenge, p, &[mu, high])?;
        self.step(Stage::Respond { one_key }, p, &[secret, masks, commitments, hash, challenge])
    }

    fn open<'p>(&self, p: &'p Pipeline, signatures: Value<'p>) -> Result<Value<'p>> {
        let [slots] = self.step(Stage::Open, p, &[signatures])?;
        Ok(slots)
    }

    fn verify<'p>(
        &self,
        p: &'p Pipeline,
        keys: Keys,
        [matrix, values]: [Value<'p>; 2],
        [mu, slots]: [Value<'p>; 2],
    ) -> Result<Value<'p>> {
        let [challenge, hints, status] = self.step(Stage::Decode, p, &[slots])?;
        let stage = Stage::Reconstruct { one_key: keys.is_one() };
        let [_, high, status] = self.step(stage, p, &[matrix, values, slots, challenge, hints, status])?;
        let [status] = self.step(Stage::Compare, p, &[mu, high, slots, status])?;
        Ok(status)
    }

    fn release<'p>(&self, p: &'p Pipeline, inputs: [Value<'p>; 3]) -> Result<[Value<'p>; 2]> {
        self.step(Stage::Release, p, &inputs)
    }
}
