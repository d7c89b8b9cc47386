//! Bytes that valgrind takes for secrets, in that they count as not initialised.

use std::convert::Infallible;
use std::hint::black_box;

use rand_core::{TryCryptoRng, TryRng};

/// The state of bytes that valgrind is told.
#[derive(Clone, Copy)]
pub(crate) enum Told {
    /// They count as not initialised, which nothing may depend on.
    Secret = 1,
    Public = 2,
}

/// Tells valgrind, if that is what runs the program: a no-operation for a CPU. As far as the compiler knows, the bytes are
/// others then.
#[inline(never)]
pub(crate) fn tell(bytes: &mut [u8], told: Told) {
    // memcheck's own requests begin with "MC"
    const MEMCHECK: usize = 0x4d43_0000;
    let request = [MEMCHECK + told as usize, bytes.as_mut_ptr() as usize, bytes.len(), 0, 0, 0];
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the rotations are by 128 bits in all, and the exchange is of a register with itself.
    #[allow(unsafe_code)]
    unsafe {
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") request.as_ptr(), inout("rdx") 0usize => _, options(nostack),
        );
    }
    black_box(request);
}

/// Bytes that may be looked at from now on.
pub(crate) fn opened<T: AsMut<[u8]>>(mut bytes: T) -> T {
    tell(bytes.as_mut(), Told::Public);
    bytes
}

/// Random bytes as far as this program goes, all of them secret.
pub(crate) struct Bytes(pub(crate) u8);

impl TryRng for Bytes {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes).map(|()| u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for byte in bytes.iter_mut() {
            self.0 = self.0.wrapping_mul(109).wrapping_add(89);
            *byte = self.0;
        }
        tell(bytes, Told::Secret);
        Ok(())
    }
}

impl TryCryptoRng for Bytes {}
