//! Prediction of the device memory that the scheme needs, before any of it is allocated.

use std::collections::BTreeMap;

use ringforge::kernels::Table;
use ringforge_rlwe::{KeyOperation, Switch, automorphisms};

use crate::error::{Error, Result};
use crate::programs::Operation;
use crate::scheme::Ckks;

/// Bytes of device memory for keys, ciphertexts and the operations on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// The secret, public and relinearisation keys, and the keys for rotations and conjugation.
    pub keys: usize,
    /// All ciphertexts that exist at one time, at the top level.
    pub ciphertexts: usize,
    /// The largest temporary memory of any single operation.
    pub temporaries: usize,
    /// Twiddle factors and constants of all operations at the top level. Lower levels use the same tables, except for a
    /// few kilobytes per level.
    pub tables: usize,
}

impl Memory {
    /// Sum of all parts.
    #[must_use]
    pub const fn total(&self) -> usize {
        self.keys.saturating_add(self.ciphertexts).saturating_add(self.temporaries).saturating_add(self.tables)
    }
}

impl Ckks {
    /// Predicts the peak device memory, with keys for `rotations` (and for conjugation, if `conjugates` is set).
    /// `ciphertexts` is the number of ciphertext batches that exist at once, operands and results included, and `batch`
    /// the number of items in each. A batch of plaintexts counts as half a batch. Allocates nothing on the device.
    ///
    /// A GPU rounds allocations up, by at most an eighth. It keeps freed memory for later runs, and for buffers of at
    /// least half the freed size, until memory runs short or [`Device::trim`](ringforge::Device::trim) is called. The
    /// best time for that call is after key generation. Kernel code and the driver's own memory are not included.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if an operation cannot be planned.
    pub fn memory(&self, rotations: &[i64], conjugates: bool, ciphertexts: usize, batch: usize) -> Result<Memory> {
        let (parameters, top) = (self.parameters(), self.parameters().top_level());
        let turns = automorphisms(parameters.rlwe(), rotations, conjugates);
        let (ciphertext, switching) = (parameters.ciphertext_bytes(top), parameters.rlwe().switching_key_bytes());
        let secret = switching / (2 * parameters.rlwe().digits());
        let keys = secret + ciphertext + switching.saturating_mul(1 + turns.len());

        let products = [true, false].map(|rescaled| Operation::Multiply { square: false, rescaled });
        let mut operations =
            vec![Operation::Encode { extended: false }, Operation::Decrypt(Vec::new()), Operation::Rescale];
        operations.extend(products);
        let switches = turns.iter().map(|&k| Switch::Automorphism(k)).chain([Switch::Square]);
        let sources = switches.map(KeyOperation::SourceOfSwitch);
        let of_keys = [KeyOperation::SecretKey, KeyOperation::PublicKey, KeyOperation::SwitchingKey];
        let limbs = parameters.limbs(top);
        let of_keys = of_keys.into_iter().chain(sources).map(|operation| (self.keys().plan(operation, limbs, 1), 1));
        let encryption = (self.keys().plan(KeyOperation::Encrypt, limbs, batch), batch);
        if !turns.is_empty() {
            operations.push(Operation::Automorphisms(turns.iter().map(|&k| (k, limbs)).collect()));
        }
        let planner = self.engine().planner().clone().for_batch(self.keys().planned_items(batch));
        let operations = operations.iter().map(|operation| (self.plan(operation, top, &planner), batch));
        let (mut tables, mut temporaries) = (BTreeMap::new(), 0);
        let of_keys = of_keys.chain([encryption]).map(|(plan, batch)| (plan.map_err(Error::from), batch));
        for (plan, batch) in of_keys.chain(operations) {
            let plan = plan?;
            // a switching key is made from a secret in a buffer of its own
            let source = plan.arg("from").map_or(0, |arg| arg.bytes);
            temporaries = temporaries.max(plan.temporary_bytes(batch) + source);
            plan.tables().for_each(|table| count(table, &mut tables));
        }
        let ciphertexts = ciphertexts.saturating_mul(batch).saturating_mul(ciphertext);
        Ok(Memory { keys, ciphertexts, temporaries, tables: tables.values().sum() })
    }
}

/// Adds a table, and all tables from which it is computed, to `tables`, each once.
pub(crate) fn count(table: &Table, tables: &mut BTreeMap<String, usize>) {
    if tables.insert(format!("{table:?}"), table.bytes()).is_some() {
        return;
    }
    match table {
        Table::Made { inputs, .. } => inputs.iter().for_each(|input| count(input, tables)),
        Table::List(all) => all.iter().for_each(|table| count(table, tables)),
        Table::Bytes(_) => {}
    }
}
