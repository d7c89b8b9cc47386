//! Rows of products on tensor cores: a warp each.

use ringforge::{Built, Launch, Port, Slot, Table};

/// Columns of the small factor's matrix.
const COLUMNS: usize = 8;

/// Rows of a tile, which is what a tensor core makes at once.
const TILE: usize = 16;

/// Threads of a row.
const WARP: u32 = 32;

/// How a warp multiplies polynomials of degree below n; the text that does it is `toeplitz.cuh`, whose letters these are.
#[derive(Debug, Clone)]
pub(super) struct TensorRows {
    n: usize,
    extra: usize,
}

impl TensorRows {
    /// Rows with this much shared memory of the kernel's own.
    pub(super) fn new(n: usize, extra: usize) -> Self {
        Self { n, extra: extra.next_multiple_of(16) }
    }

    /// Coefficients of a column.
    const fn block(&self) -> usize {
        32 * self.n.div_ceil(32 * COLUMNS)
    }

    const fn tiles(&self) -> usize {
        let delay = self.block() / TILE;
        (self.n + self.block() - 1).div_ceil(self.block()) * delay
    }

    /// Words of a row that a kernel may use beside a product: the coefficients of one that is not folded.
    pub(super) const fn cells(&self) -> usize {
        TILE * self.tiles() + (COLUMNS - 1) * self.block()
    }

    const fn row_bytes(&self) -> usize {
        let copy = (TILE * self.tiles() + self.block()) / 4 + 1;
        let pitch = (copy + 23) / 32 * 32 + 8;
        let sums = self.cells() + self.cells() / (2 * self.block()) * 8 + 8;
        4 * (2 * 4 * pitch + sums)
    }

    /// The port in place of a table of factors, which transforms have: a word that nobody reads.
    pub(super) fn table_port(&self) -> Port {
        Port::shared(size_of::<u32>())
    }

    /// What [`TensorRows::table_port`] is bound to.
    pub(super) fn table_slot(&self) -> Slot {
        Slot::Table(Table::Bytes([0; size_of::<u32>()].into()))
    }

    /// The kernel made concrete: these rows as `Rq`, then further lines of its own.
    pub(super) fn build(&self, further: &str) -> Built {
        let (cells, row_bytes, extra) = (self.cells(), self.row_bytes(), self.extra);
        let prelude = format!(
            r#"#pragma once
#include "ring.cuh"
struct Rq {{
    using Cell = rf::u32;
    struct M {{
        using Twiddle = rf::u32;
    }};
    static constexpr rf::u32 n = {cells}, base = 1, rows = 1, moduli = 1, per_item = 1, above = 1, stride = 1;
    static constexpr rf::u32 threads = {WARP}, tile = 1, row_bytes = {row_bytes}, extra = {extra};
    static constexpr bool mapped = false, natural_order = false, whole_warps = true;
}};
{further}#include "ctru_prime_tensor.cuh"
"#
        );
        let shared_bytes = (row_bytes + extra) as u32;
        Built { prelude, launch: Launch { threads: WARP, items_per_block: 1, blocks_per_item: 1, shared_bytes } }
    }
}
