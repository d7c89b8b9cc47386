//! Iteration over a kernel's items on a CPU.

use core::iter::zip;
use core::ops::Range;

use bytemuck::{Pod, PodCastError};

use ringforge_math::error::Result;

use super::{Args, Sharing, Slice};

impl<'a> Args<'a> {
    /// Calls `work` for each item of a launch, with the item's index and a tuple of references, one for each of the
    /// first ports. A reference is to the item's memory at its port, or to all memory of a shared port. `&T` and `&[T]`
    /// are for inputs, `&mut T` and `&mut [T]` for ports that are written. The tuple may have fewer entries than the
    /// kernel has ports.
    ///
    /// ```
    /// # use ringforge::Result;
    /// # use ringforge::kernels::Args;
    /// # fn on_cpu(items: core::ops::Range<usize>, args: &mut Args<'_>) -> Result<()> {
    /// args.each(items, |_, (seed, coins, status): (&[u8; 32], &mut [u8], &mut u32)| {
    ///     coins.fill(seed[0]);
    ///     *status = 1;
    ///     Ok(())
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of `work`, [`Args::input`] and [`Args::output`]; [`Error::Kernel`](ringforge_math::Error::Kernel) if
    /// the tuple does not fit the ports.
    pub fn each<P: Tuple<'a>>(
        &mut self,
        items: Range<usize>,
        mut work: impl FnMut(usize, P) -> Result<()>,
    ) -> Result<()> {
        let mut rest = Vec::with_capacity(P::COUNT);
        for port in 0..P::COUNT {
            rest.push(match self.slices.get(port) {
                Some(Slice::Out(_)) => PortBytes::Write(self.output(port)?),
                _ => PortBytes::Read(self.input(port)?),
            });
        }
        for item in items {
            let mut parts = zip(0.., zip(&mut rest, self.ports));
            let tuple = P::of(&mut || {
                let (number, (rest, port)) = parts.next().ok_or((0, PodCastError::SizeMismatch))?;
                let part = if port.sharing == Sharing::PerItem { rest.split(port.bytes) } else { rest.shared() };
                part.map(|part| (number, part)).ok_or((number, PodCastError::SizeMismatch))
            });
            work(item, tuple.map_err(|(number, error)| self.not_cast_to(number, P::ALIGN, error))?)?;
        }
        Ok(())
    }
}

/// Bytes of a port.
#[expect(missing_debug_implementations, reason = "they may be secret")]
pub enum PortBytes<'a> {
    /// Bytes of a port that is read.
    Read(&'a [u8]),
    /// Bytes of a port that is written.
    Write(&'a mut [u8]),
}

impl<'a> PortBytes<'a> {
    /// Splits this many bytes off the start; `None` if there are fewer.
    fn split(&mut self, bytes: usize) -> Option<Self> {
        match self {
            Self::Read(rest) => rest.split_off(..bytes).map(Self::Read),
            Self::Write(rest) => rest.split_off_mut(..bytes).map(Self::Write),
        }
    }

    /// All bytes of a shared port that is read; `None` for a written port.
    fn shared(&self) -> Option<Self> {
        match self {
            Self::Read(all) => Some(Self::Read(all)),
            Self::Write(_) => None,
        }
    }
}

type Next<'n, 'a> = dyn FnMut() -> Result<(usize, PortBytes<'a>), (usize, PodCastError)> + 'n;

/// The memory of one item at a kernel's ports: a tuple of up to eleven references to elements, or to slices of elements.
pub trait Tuple<'a>: Sized {
    /// Number of references in the tuple, which is the number of ports.
    const COUNT: usize;
    /// Largest alignment of the elements.
    const ALIGN: usize;

    /// Builds the tuple from the bytes of the ports, which `next` returns one after another. An error holds the port's
    /// number and the reason why its bytes do not fit.
    ///
    /// # Errors
    /// Errors of `next`, and an error for bytes that cannot be cast to the elements.
    fn of(next: &mut Next<'_, 'a>) -> Result<Self, (usize, PodCastError)>;
}

/// A reference to one item's memory at one port.
pub trait Element<'a>: Sized {
    /// Alignment of the element.
    const ALIGN: usize;

    /// Casts bytes to the reference.
    ///
    /// # Errors
    /// An error for bytes that cannot be cast to the elements.
    fn of(part: PortBytes<'a>) -> Result<Self, PodCastError>;
}

macro_rules! elements {
    ($($element:ty, $side:ident, $cast:ident;)*) => {$(
        impl<'a, T: Pod> Element<'a> for $element {
            const ALIGN: usize = align_of::<T>();

            fn of(part: PortBytes<'a>) -> Result<Self, PodCastError> {
                match part {
                    PortBytes::$side(bytes) => bytemuck::$cast(bytes),
                    _ => Err(PodCastError::SizeMismatch),
                }
            }
        }
    )*};
}

elements! {
    &'a T, Read, try_from_bytes;
    &'a [T], Read, try_cast_slice;
    &'a mut T, Write, try_from_bytes_mut;
    &'a mut [T], Write, try_cast_slice_mut;
}

macro_rules! tuples {
    ($($count:literal: $($element:ident)*;)*) => {$(
        impl<'a, $($element: Element<'a>),*> Tuple<'a> for ($($element,)*) {
            const COUNT: usize = $count;
            const ALIGN: usize = {
                let mut most = 1;
                $(if $element::ALIGN > most { most = $element::ALIGN; })*
                most
            };

            fn of(next: &mut Next<'_, 'a>) -> Result<Self, (usize, PodCastError)> {
                Ok(($({
                    let (port, part) = next()?;
                    $element::of(part).map_err(|error| (port, error))?
                },)*))
            }
        }
    )*};
}

tuples! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
    9: A B C D E F G H I;
    10: A B C D E F G H I J;
    11: A B C D E F G H I J K;
}
