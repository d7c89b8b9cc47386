//! What the scheme takes of a device's memory, said before any of it is allocated.

use std::collections::BTreeMap;

use ringforge::kernels::Table;

use crate::error::Result;
use crate::programs::Operation;
use crate::scheme::Ckks;
use crate::steps::Switch;
use crate::types::automorphisms;

/// Bytes that keys, ciphertexts and the operations on them take of a device's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// The secret key, the public one, that for relinearisation and those for rotations and conjugation.
    pub keys: usize,
    /// The ciphertexts, at the top level.
    pub ciphertexts: usize,
    /// The most that one operation takes while it runs.
    pub temporaries: usize,
    /// Factors and constants of all operations at the top level, which the levels below share but for a few kilobytes each.
    pub tables: usize,
}

impl Memory {
    /// All of it.
    #[must_use]
    pub const fn total(&self) -> usize {
        self.keys.saturating_add(self.ciphertexts).saturating_add(self.temporaries).saturating_add(self.tables)
    }
}

impl Ckks {
    /// What is in use at most at one time, with keys for these rotations and, if that is wanted, for conjugation, and with so many
    /// batches of ciphertexts at once, operands and results; a batch of plaintexts is half of one. Allocates nothing on the
    /// device.
    ///
    /// A GPU rounds what it gives up, by an eighth at most, and keeps what is freed until it runs short or
    /// [`Device::trim`](ringforge::Device::trim), which is best called once keys are made: any later run takes it, and buffers of
    /// half its size and more. Kernels' code, and what the driver takes for itself, come on top.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) where an operation cannot be planned.
    pub fn memory(&self, rotations: &[i64], conjugates: bool, ciphertexts: usize, batch: usize) -> Result<Memory> {
        let (parameters, top) = (self.parameters(), self.parameters().top_level());
        let turns = automorphisms(parameters, rotations, conjugates);
        let ciphertext = parameters.ciphertext_bytes(top);
        let secret = parameters.switching_key_bytes() / (2 * parameters.digits());
        let keys = secret + ciphertext + parameters.switching_key_bytes().saturating_mul(1 + turns.len());

        let products = [true, false].map(|rescaled| Operation::Multiply { square: false, rescaled });
        let mut on_batches =
            vec![Operation::Encode, Operation::Encrypt, Operation::Decrypt(Vec::new()), Operation::Rescale];
        on_batches.extend(products);
        let mut on_keys = vec![Operation::SecretKey, Operation::PublicKey, Operation::SwitchingKey(Switch::Square)];
        on_keys.extend(turns.iter().map(|&k| Operation::SwitchingKey(Switch::Automorphism(k))));
        if !turns.is_empty() {
            on_batches.push(Operation::Automorphisms(turns.into_iter().collect()));
        }
        let (mut tables, mut temporaries) = (BTreeMap::new(), 0);
        for (operations, batch) in [(on_keys, 1), (on_batches, batch)] {
            let planner = self.engine().planner().clone().for_batch(self.planned_items(batch));
            for operation in operations {
                let plan = self.plan(&operation, top, &planner)?;
                temporaries = temporaries.max(plan.temporary_bytes(batch));
                plan.tables().for_each(|table| count(table, &mut tables));
            }
        }
        let ciphertexts = ciphertexts.saturating_mul(batch).saturating_mul(ciphertext);
        Ok(Memory { keys, ciphertexts, temporaries, tables: tables.values().sum() })
    }
}

/// A table with all that it is made of, each once.
fn count(table: &Table, tables: &mut BTreeMap<String, usize>) {
    if tables.insert(format!("{table:?}"), table.bytes()).is_some() {
        return;
    }
    match table {
        Table::Made { inputs, .. } => inputs.iter().for_each(|input| count(input, tables)),
        Table::List(all) => all.iter().for_each(|table| count(table, tables)),
        Table::Bytes(_) => {}
    }
}
