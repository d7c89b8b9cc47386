//! The pipelines of batch operations: which kernels run, in which order, on which inputs.

use ringforge::{Pipeline, Result, Value};
use ringforge_batch::{Made, Steps};

use crate::kernels::{Stage, kernel};
use crate::params::Parameters;

impl Parameters {
    /// Adds a kernel to a pipeline and returns the kernel's outputs for these inputs.
    #[track_caller]
    pub(crate) fn step<'p, const N: usize>(
        &self,
        stage: Stage,
        p: &'p Pipeline,
        inputs: &[Value<'p>],
    ) -> Result<[Value<'p>; N]> {
        Ok(p.step(kernel(stage, self, p.limits())?, inputs))
    }
}

impl Steps for Parameters {
    fn generate<'p>(&self, p: &'p Pipeline, seeds: Value<'p>, random_key: Option<Value<'p>>) -> Result<Made<'p, 2>> {
        let [coins, status] = self.step(Stage::Expand, p, &[seeds])?;
        let mut made = self.step(Stage::Generate, p, &[seeds, coins, status])?;
        if let Some(random_key) = random_key {
            let [public_key, secret_key, status] = made;
            made = self.step(Stage::Retry, p, &[random_key, seeds, public_key, secret_key, status])?;
        }
        let [public_key, secret_key, status] = made;
        Ok(([public_key, secret_key], Some(status)))
    }

    fn encapsulate<'p>(&self, p: &'p Pipeline, public_key: Value<'p>, seed: Value<'p>) -> Result<Made<'p, 2>> {
        let [message, coins, key, status] = self.step(Stage::Encapsulate, p, &[public_key, seed])?;
        let [ciphertext, key, status] = self.step(Stage::Encrypt, p, &[public_key, message, coins, key, status])?;
        Ok(([ciphertext, key], Some(status)))
    }

    fn decapsulate<'p>(&self, p: &'p Pipeline, secret_key: Value<'p>, sent: Value<'p>) -> Result<Made<'p, 1>> {
        let [message, status] = self.step(Stage::Decrypt, p, &[secret_key, sent])?;
        let [keys, coins, status] = self.step(Stage::Decapsulate, p, &[secret_key, sent, message, status])?;
        let [key, status] = self.step(Stage::Compare, p, &[secret_key, sent, message, coins, keys, status])?;
        Ok(([key], Some(status)))
    }

    fn check_public<'p>(&self, p: &'p Pipeline, public_key: Value<'p>) -> Result<Option<Value<'p>>> {
        self.step(Stage::CheckPublic, p, &[public_key]).map(|[status]| Some(status))
    }

    fn check_secret<'p>(&self, p: &'p Pipeline, secret_key: Value<'p>) -> Result<Option<Value<'p>>> {
        self.step(Stage::CheckSecret, p, &[secret_key]).map(|[status]| Some(status))
    }
}
