//! The layout of a Merkle tree's digests.

use ringforge::{Error, Result};

/// The layers of a tree's digests, from the leaves to the root. Each layer but the root is padded with zero digests
/// to a multiple of the arity, so that all nodes are complete.
#[derive(Debug, Clone)]
pub(crate) struct Layers {
    counts: Vec<usize>,
    /// The step from each layer to the next.
    steps: Vec<Step>,
    /// Number of leaves that belong to rows, without padding.
    rows: usize,
}

/// The most digests of a layer from which one thread block climbs.
pub(crate) const SPAN: usize = 512;

/// A step from the digests of one layer to those of the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// Children per node: the arity, or 2 if rows are injected at a layer that a step by the arity would skip.
    pub(crate) children: usize,
    /// Number of nodes that have children; the rest of the layer is padding.
    pub(crate) nodes: usize,
    /// True if the digests of a lower matrix's rows are injected at (compressed into) these nodes.
    pub(crate) joined: bool,
}

impl Layers {
    /// The layers of a tree over matrices of these heights, which must be distinct and in descending order.
    ///
    /// # Errors
    /// [`Error::Length`] if there is no height, or if a height is 0 or not ⌈h/2^k⌉ for the largest height h and some k.
    pub(crate) fn new(heights: impl Iterator<Item = usize> + Clone, arity: usize) -> Result<Self> {
        check_heights(heights.clone())?;
        let mut heights = heights.peekable();
        let rows = heights.next().unwrap_or(1);
        let padded = |count: usize| if count > 1 { count.next_multiple_of(arity) } else { count };
        let (mut count, mut counts, mut steps) = (padded(rows), Vec::new(), Vec::new());
        while count > 1 {
            counts.push(count);
            let of_all = (count / arity).next_power_of_two();
            let between = heights.peek().is_some_and(|height| height.next_power_of_two() > of_all);
            let children = if between { 2 } else { arity };
            let nodes = count / children;
            let joins = |height: &usize| height.next_power_of_two() == nodes.next_power_of_two();
            steps.push(Step { children, nodes, joined: heights.next_if(joins).is_some() });
            count = padded(nodes);
        }
        counts.push(count);
        Ok(Self { counts, steps, rows })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of steps above a layer that one launch can take: of whole nodes without padding and without rows that
    /// join, and within one block for [`SPAN`] digests of the layer. At least 1.
    pub(crate) fn climbed(&self, layer: usize) -> usize {
        let (mut span, children) = (SPAN, self.steps[layer].children);
        let takes = |(above, step): (usize, &Step)| {
            span /= children;
            let whole =
                step.nodes * children == self.counts[layer + above] && step.nodes == self.counts[layer + above + 1];
            span > 0 && step.children == children && !step.joined && whole
        };
        self.steps[layer..].iter().enumerate().map(takes).take_while(|takes| *takes).count().max(1)
    }

    /// Number of layers above the leaves.
    pub(crate) fn height(&self) -> usize {
        self.steps.len()
    }

    /// Number of digests in a layer, including padding.
    pub(crate) fn count(&self, layer: usize) -> usize {
        self.counts[layer]
    }

    /// The steps from the leaves to the root.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The layer `height` steps below the root, if its number of digests is a power of two, as a cap requires.
    pub(crate) fn cap(&self, height: usize) -> Option<usize> {
        let layer = self.height().checked_sub(height)?;
        self.counts[layer].is_power_of_two().then_some(layer)
    }

    /// The layer and index of each sibling on the path from a leaf to a cap. Returns `None` if the leaf or the cap does
    /// not exist.
    pub(crate) fn path(&self, row: usize, cap_height: usize) -> Option<Vec<(usize, usize)>> {
        self.paths(&[row], cap_height)
    }

    /// The siblings on the paths from several leaves, layer by layer, without digests that can be computed from these
    /// leaves. Returns `None` if a leaf or the cap does not exist.
    pub(crate) fn paths(&self, rows: &[usize], cap_height: usize) -> Option<Vec<(usize, usize)>> {
        let below_cap = self.height().checked_sub(cap_height)?;
        let mut nodes = rows.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.last().is_some_and(|&last| last >= self.rows) {
            return None;
        }
        let mut all = Vec::with_capacity(nodes.len() * below_cap);
        for (layer, &Step { children, .. }) in self.steps[..below_cap].iter().enumerate() {
            // a power of two
            let bits = children.ilog2();
            for known in nodes.chunk_by(|a, b| a >> bits == b >> bits) {
                let first = known[0] >> bits << bits;
                all.extend(
                    (first..first + children).filter(|child| !known.contains(child)).map(|child| (layer, child)),
                );
            }
            nodes.iter_mut().for_each(|node| *node >>= bits);
            nodes.dedup();
        }
        Some(all)
    }

    /// The index of the row of a matrix of this height that belongs to a leaf.
    pub(crate) fn row_of(&self, leaf: usize, height: usize) -> usize {
        leaf >> (self.rows.next_power_of_two().ilog2() - height.next_power_of_two().ilog2())
    }
}

/// Checks that Plonky3 has a tree for matrices of these heights, in descending order. Each must be ⌈h/2^k⌉ for the
/// largest height h and some k.
fn check_heights(heights: impl Iterator<Item = usize>) -> Result<()> {
    let mut heights = heights.peekable();
    let Some(&most) = heights.peek() else { return Err(length("number of matrices (must be at least 1)", 1, 0)) };
    for height in heights {
        if height == 0 {
            return Err(length("number of rows (must be at least 1)", 1, 0));
        }
        let halvings = most.next_power_of_two().ilog2() - height.next_power_of_two().ilog2();
        let expected = most.div_ceil(1 << halvings);
        if height != expected {
            return Err(length(
                "number of rows (must be the highest matrix's, halved and rounded up any number of times)",
                expected,
                height,
            ));
        }
    }
    Ok(())
}

pub(crate) fn length(what: &'static str, expected: usize, got: usize) -> Error {
    Error::Length { what, expected, got }
}
