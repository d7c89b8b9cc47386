//! The layout of a Merkle tree's digests.

use ringforge::{Error, Result};

/// The layers of a tree's digests, from the leaves to the root. Each layer but the root is filled up with digests of zeros, so that
/// its nodes are whole.
#[derive(Debug, Clone)]
pub(crate) struct Layers {
    counts: Vec<usize>,
    /// The step from each layer to the next.
    steps: Vec<Step>,
    /// Leaves that are rows.
    rows: usize,
}

/// From the digests of a layer to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// Digests below a node: the arity, or 2 where rows join between.
    pub(crate) children: usize,
    /// Nodes that have children.
    pub(crate) nodes: usize,
    /// Whether rows join at these nodes.
    pub(crate) joined: bool,
}

impl Layers {
    /// The layers of a tree over the rows of some matrices. Their heights come without repetition, the largest first.
    ///
    /// # Errors
    /// [`Error::Length`] for no heights, heights of 0, and others than those that Plonky3 has trees for.
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

    /// Layers above the leaves.
    pub(crate) fn height(&self) -> usize {
        self.steps.len()
    }

    /// Digests of a layer.
    pub(crate) fn count(&self, layer: usize) -> usize {
        self.counts[layer]
    }

    /// From the leaves to the root.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The layer that stands so many below the root, if it has as many digests as a cap.
    pub(crate) fn cap(&self, height: usize) -> Option<usize> {
        let layer = self.height().checked_sub(height)?;
        self.counts[layer].is_power_of_two().then_some(layer)
    }

    /// The layers and numbers of the siblings from a leaf to a cap.
    pub(crate) fn path(&self, row: usize, cap_height: usize) -> Option<Vec<(usize, usize)>> {
        self.paths(&[row], cap_height)
    }

    /// The same from some leaves, without what they make themselves, layer by layer.
    pub(crate) fn paths(&self, rows: &[usize], cap_height: usize) -> Option<Vec<(usize, usize)>> {
        let below_cap = self.height().checked_sub(cap_height)?;
        let mut nodes = rows.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.last().is_some_and(|&last| last >= self.rows) {
            return None;
        }
        let mut all = Vec::new();
        for (layer, &Step { children, .. }) in self.steps[..below_cap].iter().enumerate() {
            for known in nodes.chunk_by(|a, b| a / children == b / children) {
                let first = known[0] / children * children;
                all.extend(
                    (first..first + children).filter(|child| !known.contains(child)).map(|child| (layer, child)),
                );
            }
            nodes.iter_mut().for_each(|node| *node /= children);
            nodes.dedup();
        }
        Some(all)
    }

    /// The row that a leaf is above, in a matrix of this height.
    pub(crate) fn row_of(&self, leaf: usize, height: usize) -> usize {
        leaf >> (self.rows.next_power_of_two().ilog2() - height.next_power_of_two().ilog2())
    }
}

/// Whether Plonky3 has a tree for matrices of these heights, the largest first.
fn check_heights(heights: impl Iterator<Item = usize>) -> Result<()> {
    let mut heights = heights.peekable();
    let Some(&most) = heights.peek() else { return Err(length("matrices, at least", 1, 0)) };
    for height in heights {
        if height == 0 {
            return Err(length("rows, at least", 1, 0));
        }
        let halvings = most.next_power_of_two().ilog2() - height.next_power_of_two().ilog2();
        let expected = most.div_ceil(1 << halvings);
        if height != expected {
            return Err(length("rows, the highest matrix's halved and rounded up some times,", expected, height));
        }
    }
    Ok(())
}

pub(crate) fn length(what: &'static str, expected: usize, got: usize) -> Error {
    Error::Length { what, expected, got }
}
