//! What comes from C: checked for null and sizes before it is used.

use core::ffi::{CStr, c_char};

use crate::code::{Failure, RingforgeCode};

pub(crate) fn refused(name: &str, why: &str) -> Failure {
    Failure::new(RingforgeCode::Argument, format!("{name}: {why}"))
}

/// What a handle stands for.
pub(crate) unsafe fn reference<'a, T>(name: &str, handle: *const T) -> Result<&'a T, Failure> {
    handle.as_ref().ok_or_else(|| refused(name, "is null"))
}

/// Makes a handle, which `take_back` ends.
pub(crate) unsafe fn give<T>(
    name: &str,
    place: *mut *mut T,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    let place = place.as_mut().ok_or_else(|| refused(name, "is null"))?;
    *place = core::ptr::null_mut(); // what a failure leaves
    *place = Box::into_raw(Box::new(make()?));
    Ok(())
}

/// Ends a handle; null is none. A panic while it ends is the engine's, and nobody is left to hear of it.
pub(crate) unsafe fn take_back<T>(handle: *mut T) {
    if !handle.is_null() {
        crate::code::guarded(|| {
            drop(Box::from_raw(handle));
            Ok(())
        });
    }
}

/// A text that ends with zero.
pub(crate) unsafe fn text<'a>(name: &str, text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(refused(name, "is null"));
    }
    CStr::from_ptr(text).to_str().map_err(|_| refused(name, "is not UTF-8"))
}

/// Memory of C's: `batch` items of so many numbers each. Nothing refers to it until it is read or written.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a, T> {
    name: &'a str,
    pointer: *mut T,
    /// Numbers; none where they cannot be addressed.
    count: Option<usize>,
}

impl<'a, T> Memory<'a, T> {
    pub(crate) fn new(name: &'a str, pointer: *const T, batch: usize, size: usize) -> Self {
        let count = batch.checked_mul(size);
        let bytes = count.and_then(|count| count.checked_mul(size_of::<T>()));
        let count = bytes.filter(|bytes| isize::try_from(*bytes).is_ok()).and(count);
        Self { name, pointer: pointer.cast_mut(), count }
    }

    /// Its numbers. Of none, the pointer may be null.
    fn count(&self) -> Result<usize, Failure> {
        match self.count {
            None => Err(refused(self.name, "the batch is too large to be addressed")),
            Some(0) => Ok(0),
            Some(_) if self.pointer.is_null() => Err(refused(self.name, "is null")),
            Some(_) if !self.pointer.is_aligned() => Err(refused(self.name, "is not aligned")),
            Some(count) => Ok(count),
        }
    }

    pub(crate) unsafe fn read(self) -> Result<&'a [T], Failure> {
        let count = self.count()?;
        if count == 0 { Ok(&[]) } else { Ok(core::slice::from_raw_parts(self.pointer, count)) }
    }

    pub(crate) unsafe fn write(self) -> Result<&'a mut [T], Failure> {
        let count = self.count()?;
        if count == 0 { Ok(&mut []) } else { Ok(core::slice::from_raw_parts_mut(self.pointer, count)) }
    }

    /// Refuses this memory, which is to be written, where it overlaps other memory of the call.
    pub(crate) fn apart_from<const N: usize>(self, others: [Memory<'_, u8>; N]) -> Result<Self, Failure> {
        let bytes = self.count()? * size_of::<T>();
        for other in others {
            let (a, b, size) = (self.pointer.addr(), other.pointer.addr(), other.count()?);
            if bytes > 0 && size > 0 && a < b.saturating_add(size) && b < a.saturating_add(bytes) {
                return Err(refused(self.name, &format!("overlaps {}", other.name)));
            }
        }
        Ok(self)
    }
}
