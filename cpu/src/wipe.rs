//! Wiping: memory that held secrets is overwritten with zeros, and no compiler leaves that out.

use zeroize::optimization_barrier;

/// Overwrites bytes with zeros, as fast as plain stores do it.
pub fn bytes(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
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
