//! What is made once and kept by its key, as long as it is used now and then.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ringforge::Result;

/// Values kept by key, the latest used first; cloning them is cheap.
pub(crate) struct Cache<K, V>(Mutex<Vec<(K, V)>>);

/// Values that are kept: without an end, a prover that draws a new coset for each proof would fill the device's memory.
const MOST: usize = 32;

impl<K: Eq, V: Clone> Cache<K, V> {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// The value of this key, made now unless it is there; `lost` is called where another one was given up for it. Two
    /// threads may both make it: nobody waits for that.
    pub(crate) fn get(&self, key: K, make: impl FnOnce() -> Result<V>, lost: impl FnOnce()) -> Result<V> {
        if let Some(value) = Self::used(&mut self.lock(), &key) {
            return Ok(value);
        }
        let value = make()?;
        let mut kept = self.lock();
        if let Some(value) = Self::used(&mut kept, &key) {
            return Ok(value);
        }
        kept.insert(0, (key, value.clone()));
        let end = MOST.min(kept.len());
        let given_up = kept.split_off(end);
        drop(kept);
        if !given_up.is_empty() {
            drop(given_up);
            lost();
        }
        Ok(value)
    }

    /// The value of this key, which comes to the front.
    fn used(kept: &mut [(K, V)], key: &K) -> Option<V> {
        let at = kept.iter().position(|(other, _)| other == key)?;
        kept[..=at].rotate_right(1);
        Some(kept[0].1.clone())
    }

    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(K, V)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use ringforge::Error;

    use super::*;

    fn failure<T>() -> Result<T> {
        Err(Error::OutOfMemory { bytes: 1 })
    }

    #[test]
    fn values_are_made_once_and_failures_not_kept() {
        let cache = Cache::new();
        assert!(cache.get("a", failure, || ()).is_err());
        assert_eq!(cache.get("a", || Ok(1), || ()).unwrap(), 1);
        assert_eq!(cache.get("a", failure, || ()).unwrap(), 1);
        cache.clear();
        assert_eq!(cache.get("a", || Ok(2), || ()).unwrap(), 2);
    }

    #[test]
    fn what_was_used_least_lately_is_given_up() {
        let (cache, lost) = (Cache::new(), Cell::new(0));
        for key in 0..2 * MOST {
            cache.get(key, || Ok(key), || lost.set(lost.get() + 1)).unwrap();
            assert_eq!(cache.get(0, failure, || ()).unwrap(), 0, "used all the time");
        }
        assert_eq!(lost.get(), MOST);
        assert!(cache.get(1, failure, || ()).is_err());
        assert!(cache.get(2 * MOST - 1, failure, || ()).is_ok());
    }
}
