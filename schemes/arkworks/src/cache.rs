//! What is made once and kept by its key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ringforge::Result;

/// Values kept by key; cloning them is cheap.
pub(crate) struct Cache<K, V>(Mutex<HashMap<K, V>>);

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// The value of this key, made now unless it is there. Two threads may both make it: nobody waits for that.
    pub(crate) fn get(&self, key: K, make: impl FnOnce() -> Result<V>) -> Result<V> {
        if let Some(value) = self.lock().get(&key) {
            return Ok(value.clone());
        }
        let value = make()?;
        Ok(self.lock().entry(key).or_insert(value).clone())
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use ringforge::Error;

    use super::*;

    #[test]
    fn values_are_made_once_and_failures_not_kept() {
        let cache = Cache::new();
        let failure = || Err(Error::OutOfMemory { bytes: 1 });
        assert!(cache.get("a", failure).is_err());
        assert_eq!(cache.get("a", || Ok(1)).unwrap(), 1);
        assert_eq!(cache.get("a", failure).unwrap(), 1);
        cache.clear();
        assert_eq!(cache.get("a", || Ok(2)).unwrap(), 2);
    }
}
