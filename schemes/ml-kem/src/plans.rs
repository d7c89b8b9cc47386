//! The operations of ML-KEM as sequences of stages, from which plans are built.

use ringforge::{Pipeline, Result, Value};
use ringforge_batch::{Made, Steps};

use crate::kernels::{Stage, kernel};
use crate::params::Parameters;

impl Parameters {
    /// Adds a stage to the pipeline and returns its outputs.
    #[track_caller]
    fn step<'p, const N: usize>(&self, stage: Stage, p: &'p Pipeline, inputs: &[Value<'p>]) -> Result<[Value<'p>; N]> {
        Ok(p.step(kernel(stage, self, p.limits())?, inputs))
    }
}

impl Steps for Parameters {
    fn generate<'p>(&self, p: &'p Pipeline, seeds: Value<'p>, _: Option<Value<'p>>) -> Result<Made<'p, 2>> {
        let [rho, noise] = self.step(Stage::Seed, p, &[seeds])?;
        let [matrix] = self.step(Stage::Matrix { transposed: false }, p, &[rho])?;
        let [public_key, secret_key] = self.step(Stage::Generate, p, &[seeds, rho, matrix, noise])?;
        let [secret_key] = self.step(Stage::Finish, p, &[public_key, secret_key])?;
        Ok(([public_key, secret_key], None))
    }

    fn encapsulate<'p>(&self, p: &'p Pipeline, public_key: Value<'p>, message: Value<'p>) -> Result<Made<'p, 2>> {
        let [shared_key, rho, noise] = self.step(Stage::Encapsulate, p, &[public_key, message])?;
        let [matrix] = self.step(Stage::Matrix { transposed: true }, p, &[rho])?;
        let [ciphertext] = self.step(Stage::Encrypt, p, &[public_key, message, matrix, noise])?;
        Ok(([ciphertext, shared_key], None))
    }

    fn decapsulate<'p>(&self, p: &'p Pipeline, secret_key: Value<'p>, sent: Value<'p>) -> Result<Made<'p, 1>> {
        let [message] = self.step(Stage::Decrypt, p, &[secret_key, sent])?;
        let [keys, rho, noise] = self.step(Stage::Decapsulate, p, &[secret_key, sent, message])?;
        let [matrix] = self.step(Stage::Matrix { transposed: true }, p, &[rho])?;
        Ok((self.step(Stage::Compare, p, &[secret_key, sent, message, matrix, noise, keys])?, None))
    }

    fn check_public<'p>(&self, p: &'p Pipeline, public_key: Value<'p>) -> Result<Option<Value<'p>>> {
        self.step(Stage::CheckPublic, p, &[public_key]).map(|[status]| Some(status))
    }

    fn check_secret<'p>(&self, p: &'p Pipeline, secret_key: Value<'p>) -> Result<Option<Value<'p>>> {
        self.step(Stage::CheckSecret, p, &[secret_key]).map(|[status]| Some(status))
    }
}
