//! Wiping: memory that held secrets is overwritten with zeros, and no compiler leaves that out.

use zeroize::optimization_barrier;

/// Overwrites bytes with zeros, as fast as plain stores do it.
pub(crate) fn bytes(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}

/// Overwrites the stack below the caller's frame, at least so many bytes, 64 KiB at most: with them the copies, vectors and
/// spilled registers that calls before this one left there.
pub(crate) fn stack(bytes: usize) {
    match bytes.div_ceil(2 << 10) {
        0..=1 => below::<0x800>(),
        2 => below::<0x1000>(),
        3 => below::<0x1800>(),
        4 => below::<0x2000>(),
        5 => below::<0x2800>(),
        6..=8 => below::<0x4000>(),
        9..=16 => below::<0x8000>(),
        _ => below::<0x10000>(),
    }
}

#[inline(never)]
fn below<const BYTES: usize>() {
    // a local that is written: of a constant there would be a copy elsewhere, and nothing here
    let mut dead = [0; BYTES];
    bytes(&mut dead);
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_become_zero() {
        let mut memory = [7; 100];
        super::bytes(&mut memory[1..]);
        assert!(memory[0] == 7 && memory[1..] == [0; 99]);
    }
}
