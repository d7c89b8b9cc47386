//! Runs a layer on the halves or thirds of a node, on several threads if the node is large.

use crate::simd::apart;
use crate::threads::{self, TASK_BYTES};

/// Calls `run` with matching slices of both halves of a node, on several threads if the node is large.
pub(super) fn two_parts<W: Send>(words: &mut [W], run: &(impl Fn(&mut [W], &mut [W]) + Sync)) {
    fn pieces<W: Send>(a: &mut [W], b: &mut [W], run: &(impl Fn(&mut [W], &mut [W]) + Sync)) {
        if size_of_val(a) <= TASK_BYTES {
            return apart(
                a,
                b,
                &mut [],
                #[inline(always)]
                |a, b, _| run(a, b),
            );
        }
        let middle = a.len() / 2;
        let ((a, c), (b, d)) = (a.split_at_mut(middle), b.split_at_mut(middle));
        threads::join(|| pieces(a, b, run), || pieces(c, d, run));
    }
    let (a, b) = words.split_at_mut(words.len() / 2);
    pieces(a, b, run);
}

/// Calls `run` with matching slices of all three thirds of a node, on several threads if the node is large.
pub(super) fn three_parts<W: Send>(words: &mut [W], run: &(impl Fn(&mut [W], &mut [W], &mut [W]) + Sync)) {
    fn pieces<W: Send>(parts: [&mut [W]; 3], run: &(impl Fn(&mut [W], &mut [W], &mut [W]) + Sync)) {
        let [a, b, c] = parts;
        if size_of_val(a) <= TASK_BYTES {
            return apart(
                a,
                b,
                c,
                #[inline(always)]
                |a, b, c| run(a, b, c),
            );
        }
        let middle = a.len() / 2;
        let ((a, d), (b, e), (c, f)) = (a.split_at_mut(middle), b.split_at_mut(middle), c.split_at_mut(middle));
        threads::join(|| pieces([a, b, c], run), || pieces([d, e, f], run));
    }
    let third = words.len() / 3;
    let (a, rest) = words.split_at_mut(third);
    let (b, c) = rest.split_at_mut(third);
    pieces([a, b, c], run);
}
