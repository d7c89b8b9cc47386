//! Marks bytes as secret for valgrind, by declaring them uninitialised.

use std::convert::Infallible;
use std::hint::black_box;

use rand_core::{TryCryptoRng, TryRng};

/// How valgrind shall treat bytes.
#[derive(Clone, Copy)]
pub(crate) enum Told {
    /// Uninitialised: valgrind reports branches and addresses that depend on them.
    Secret = 1,
    Public = 2,
}

/// Marks bytes for valgrind; a no-op if the program runs without it. The compiler must assume that the bytes change.
#[inline(never)]
pub(crate) fn tell(bytes: &mut [u8], told: Told) {
    // memcheck's own client requests begin with "MC"
    const MEMCHECK: usize = 0x4d43_0000;
    let request = [MEMCHECK + told as usize, bytes.as_mut_ptr() as usize, bytes.len(), 0, 0, 0];
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the rotations add up to 128 bits, and the exchange is of a register with itself.
    #[allow(unsafe_code)]
    unsafe {
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") request.as_ptr(), inout("rdx") 0usize => _, options(nostack),
        );
    }
    black_box(request);
}

/// Marks bytes as public and returns them.
pub(crate) fn opened<T: AsMut<[u8]>>(mut bytes: T) -> T {
    tell(bytes.as_mut(), Told::Public);
    bytes
}

/// A source of pseudo-random bytes for this program, all of them marked secret.
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
