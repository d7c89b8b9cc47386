//! Stack use of CPU operations on limbs, and wiping of the stack after them: copies, vectors and spilled registers
//! would remain there.

use zeroize::zeroize_stack;

/// The operations whose stack is wiped.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// Forward or inverse transform. The stack holds tiles of short words, and recursion frames for nodes larger than
    /// the nearest cache.
    Transform,
    /// Pointwise product. The stack holds pieces of a limb, leaves in vector lanes, and their sums.
    Product,
    /// Pointwise inversion. The stack holds one frame for each halving of the leaves.
    Inversion,
}

/// Bytes that an operation takes on the stack below its caller's frame: one row for words of 4, 8 and 32 bytes each,
/// one column for each [`Step`]. They include a margin, also for builds that optimise less (`lto = "off"`).
const BYTES: [[usize; 3]; 3] = [
    [0x2800 * MORE, 0x3800 * MORE, 0x2000 * MORE],
    [0x1000 * MORE, 0x6000 * MORE, 0x2000 * MORE],
    [0x4000 * MORE, 0x15000 * MORE, 0x8000 * MORE],
];

/// Factor for code that takes more stack because it is optimised for size, little, or not at all, as detected by the
/// build script.
const MORE: usize = if cfg!(ringforge_unoptimised) { 6 } else { 1 };

/// Wipes the stack below the caller's frame, where an operation left its data.
#[inline(always)]
pub(super) fn wipe<W>(step: Step) {
    match (size_of::<W>(), step) {
        (4, Step::Transform) => zeroize_stack::<{ BYTES[0][0] }>(),
        (4, Step::Product) => zeroize_stack::<{ BYTES[0][1] }>(),
        (4, Step::Inversion) => zeroize_stack::<{ BYTES[0][2] }>(),
        (8, Step::Transform) => zeroize_stack::<{ BYTES[1][0] }>(),
        (8, Step::Product) => zeroize_stack::<{ BYTES[1][1] }>(),
        (8, Step::Inversion) => zeroize_stack::<{ BYTES[1][2] }>(),
        (_, Step::Transform) => zeroize_stack::<{ BYTES[2][0] }>(),
        (_, Step::Product) => zeroize_stack::<{ BYTES[2][1] }>(),
        (_, Step::Inversion) => zeroize_stack::<{ BYTES[2][2] }>(),
    }
}

#[cfg(all(test, target_os = "linux"))]
pub(crate) use tests::depth;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::File;
    use std::hint::black_box;
    use std::os::unix::fs::FileExt;

    use bytemuck::{cast_slice, cast_slice_mut};

    use super::*;
    use crate::layout::KernelLayout;
    use crate::transform::{Transform, Word};
    use crate::{Limits, PolyType};

    /// Number of bytes below a frame that the test inspects.
    const DEEP: usize = if MORE > 1 { 512 << 10 } else { 128 << 10 };
    const PAINT: u8 = 0xa5;

    #[inline(never)]
    fn paint() {
        let mut area = [PAINT; DEEP + 0x1000];
        black_box(&mut area);
    }

    /// Returns the number of bytes below this frame up to which `run` writes.
    #[inline(never)]
    pub(crate) fn depth(run: &mut dyn FnMut()) -> usize {
        let frame = 0u8;
        let mut stack = vec![0; DEEP];
        paint();
        run();
        let memory = File::open("/proc/self/mem").expect("this process's memory");
        memory.read_exact_at(&mut stack, &raw const frame as u64 - DEEP as u64).expect("a stack");
        stack.iter().skip_while(|byte| **byte == PAINT).count()
    }

    /// The largest stack use of each operation in these rings, in bytes. Rings with fewer layers are included, so that
    /// leaves are large.
    fn deepest<W: Word>(rings: &[String]) -> [usize; 3] {
        let mut most = [0; 3];
        for poly in rings {
            let poly: PolyType = poly.parse().expect("a ring");
            let rows = KernelLayout::of(&poly, &Limits::cpu()).expect("rows");
            let layers = rows.factorization().depth();
            for rows in (layers.saturating_sub(3)..=layers).filter_map(|layers| rows.clone().depth(layers).ok()) {
                let transform = Transform::<W>::of(&rows, 0).expect("a transform");
                let mut row = vec![W::zeroed(); poly.degree()];
                let other = row.clone();
                let forward = depth(&mut || transform.row.forward(cast_slice_mut(&mut row)));
                let inverse = depth(&mut || transform.row.inverse(cast_slice_mut(&mut row)));
                let product = depth(&mut || transform.row.multiply(cast_slice_mut(&mut row), cast_slice(&other)));
                let sum = depth(&mut || {
                    transform.row.multiply_matrix(cast_slice(&other), cast_slice(&other), cast_slice_mut(&mut row));
                });
                let inversion = match rows.factorization().shape().can_be_inverted() {
                    true => depth(&mut || {
                        black_box(transform.row.invert(cast_slice_mut(&mut row)));
                    }),
                    false => 0,
                };
                for (most, found) in most.iter_mut().zip([forward.max(inverse), product.max(sum), inversion]) {
                    *most = found.max(*most);
                }
            }
        }
        most
    }

    #[test]
    fn steps_use_less_stack_than_is_wiped() {
        let rings = |rings: &[(&str, &[&str])]| -> Vec<String> {
            rings.iter().flat_map(|(q, all)| all.iter().map(move |f| format!("{q}:{f}"))).collect()
        };
        let fr = "52435875175126190479447740508185965837690552500527637822603658699938581184513";
        let found = [
            deepest::<u32>(&rings(&[
                ("17", &["x^4+1"]),
                ("3457", &["x^768-x^384+1"]),
                ("12289", &["x^1024+1"]),
                ("40961", &["x^4096+1"]),
                ("998244353", &["x^512+1", "x^1280-1", "x^16384+1"]),
            ])),
            deepest::<u64>(&rings(&[
                ("18446744069414584321", &["x^1536-1", "x^8192+1"]),
                ("4611686018326724609", &["x^640-1", "x^1024+1", "x^8192+1"]),
            ])),
            deepest::<[u64; 4]>(&rings(&[(fr, &["x^4-1", "x^64-1", "x^512-1", "x^2048-1"])])),
        ];
        let fits = found.iter().flatten().zip(BYTES.iter().flatten()).all(|(found, wiped)| found + found / 8 < *wiped);
        assert!(fits, "{found:?} bytes of {BYTES:?}");
    }
}
