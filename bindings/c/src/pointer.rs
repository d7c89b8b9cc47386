//! Checks of arguments from C before use: null, alignment, sizes and overlaps.

use core::ffi::{CStr, c_char};
use core::ops::Range;

use crate::code::{Failure, RingforgeCode};

pub(crate) fn refused(name: &str, why: &str) -> Failure {
    Failure::new(RingforgeCode::Argument, format!("{name}: {why}"))
}

/// Returns the object that a handle points to, or an error for null.
pub(crate) unsafe fn reference<'a, T>(name: &str, handle: *const T) -> Result<&'a T, Failure> {
    handle.as_ref().ok_or_else(|| refused(name, "is null"))
}

/// Stores a handle to the object that `make` returns at `place`; `take_back` frees it. Stores null if `make` fails.
pub(crate) unsafe fn give<T>(
    name: &str,
    place: *mut *mut T,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    let place = place.as_mut().ok_or_else(|| refused(name, "is null"))?;
    *place = core::ptr::null_mut(); // stays null if `make` fails
    *place = Box::into_raw(Box::new(make()?));
    Ok(())
}

/// Frees a handle; null is ignored. A panic while dropping the object is caught, and its code is discarded.
pub(crate) unsafe fn take_back<T>(handle: *mut T) {
    if !handle.is_null() {
        crate::code::guarded(|| {
            drop(Box::from_raw(handle));
            Ok(())
        });
    }
}

/// Returns a NUL-terminated UTF-8 string, or an error for null and for other encodings.
pub(crate) unsafe fn text<'a>(name: &str, text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(refused(name, "is null"));
    }
    CStr::from_ptr(text).to_str().map_err(|_| refused(name, "is not UTF-8"))
}

impl Memory<'_, u8> {
    /// The address range of the memory, empty for a null pointer. If the size overflows, the range extends to the last
    /// address.
    fn addresses(&self) -> Range<usize> {
        let first = self.pointer.addr();
        let count = if self.pointer.is_null() { 0 } else { self.count.unwrap_or(usize::MAX) };
        first..first.saturating_add(count)
    }
}

/// Memory of the C caller: `batch` items of `size` elements each. No Rust reference to the memory exists until `read`
/// or `write`.
#[derive(Clone, Copy)]
pub(crate) struct Memory<'a, T> {
    name: &'a str,
    pointer: *mut T,
    /// The number of elements of type `T`; `None` if they are too large to address.
    count: Option<usize>,
}

impl<'a, T> Memory<'a, T> {
    pub(crate) fn new(name: &'a str, pointer: *const T, batch: usize, size: usize) -> Self {
        let count = batch.checked_mul(size);
        let bytes = count.and_then(|count| count.checked_mul(size_of::<T>()));
        let count = bytes.filter(|bytes| isize::try_from(*bytes).is_ok()).and(count);
        Self { name, pointer: pointer.cast_mut(), count }
    }

    /// Returns the number of elements, after checks of size, null and alignment. An empty memory's pointer is not
    /// checked.
    fn count(&self) -> Result<usize, Failure> {
        match self.count {
            None => Err(refused(self.name, "the batch is too large to address")),
            Some(0) => Ok(0),
            Some(_) if self.pointer.is_null() => Err(refused(self.name, "is null")),
            Some(_) if !self.pointer.is_aligned() => Err(refused(self.name, "is not aligned to its element type")),
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

    /// The same memory as bytes.
    pub(crate) fn bytes(&self) -> Memory<'a, u8> {
        Memory { name: self.name, pointer: self.pointer.cast(), count: self.count.map(|count| count * size_of::<T>()) }
    }

    /// Returns this memory, which will be written, or an error if it overlaps `others`, or if this memory or one of
    /// `others` fails the checks of `count`.
    pub(crate) fn apart_from<const N: usize>(self, others: [Memory<'_, u8>; N]) -> Result<Self, Failure> {
        self.count()?;
        others.iter().try_for_each(|other| other.count().map(drop))?;
        self.beside(others)
    }

    /// Returns this memory, or an error if it overlaps `others`. Unlike `apart_from`, accepts null and oversized
    /// memory, which `read` and `write` reject.
    pub(crate) fn beside<const N: usize>(self, others: [Memory<'_, u8>; N]) -> Result<Self, Failure> {
        let own = self.bytes().addresses();
        let meets = |other: &Memory<'_, u8>| {
            let other = other.addresses();
            !own.is_empty() && !other.is_empty() && own.start < other.end && other.start < own.end
        };
        match others.iter().find(|other| meets(other)) {
            Some(other) => Err(refused(self.name, &format!("overlaps {}", other.name))),
            None => Ok(self),
        }
    }
}
