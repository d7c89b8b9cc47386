//! A CPU whose calls fail, to see what a caller does when a device does.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use ringforge_math::error::{Error, Result};
use ringforge_runtime::device::Device;

use super::watched::{self, Watch};

/// Says which call of a [failing device](device) fails.
#[derive(Debug, Clone, Default)]
pub struct Fault(Arc<AtomicUsize>);

impl Fault {
    /// Lets the call with this number fail, counted from 1, and none after it. 0 lets no call fail.
    pub fn at(&self, call: usize) {
        self.0.store(call, Ordering::SeqCst);
    }

    /// Whether the call that was to fail was reached.
    #[must_use]
    pub fn happened(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

impl Watch for Fault {
    fn call(&self, call: &'static str) -> Result<()> {
        let less = |left: usize| left.checked_sub(1);
        match self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) {
            Ok(1) => Err(Error::Driver { call, code: 719, message: "injected".into() }),
            _ => Ok(()),
        }
    }
}

/// A CPU whose allocations, copies, wipes and launches are counted, and one of which fails.
#[must_use]
pub fn device() -> (Device, Fault) {
    let fault = Fault::default();
    (watched::device(None, fault.clone()), fault)
}
