//! Marks bytes as secret for valgrind by declaring them uninitialised.

use std::convert::Infallible;
use std::hint::black_box;

use rand_core::{TryCryptoRng, TryRng};

/// How valgrind must treat bytes: as secret or as public.
#[derive(Clone, Copy)]
pub(crate) enum Told {
    /// Uninitialised: valgrind reports branches and addresses that depend on them.
    Secret = 1,
    Public = 2,
}

/// Tells valgrind to treat bytes as secret or public. Has no effect if the program does not run under valgrind. The
/// compiler must assume that the bytes change.
#[inline(never)]
pub(crate) fn tell(bytes: &mut [u8], told: Told) {
    // the prefix of memcheck's client requests, the letters "MC"
    const MEMCHECK: usize = 0x4d43_0000;
    let request = [MEMCHECK + told as usize, bytes.as_mut_ptr() as usize, bytes.len(), 0, 0, 0];
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the rotations of `rdi` add up to 128 bits, and `xchg` exchanges a register with itself, so both registers
    // keep their values.
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

/// A deterministic source of pseudo-random bytes, all of which are marked secret. Not for use outside this program.
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
