//! Rows of products on tensor cores: a warp each.

use ringforge::kernels::{Built, Launch};

/// Columns of the small factor's matrix.
const COLUMNS: usize = 8;

/// Rows of a tile, which is what a tensor core makes at once.
const TILE: usize = 16;

/// Digits of a coefficient of the large factor, and their bits.
const DIGITS: usize = 2;
const DIGIT_BITS: u32 = 7;

/// Copies of a digit, each a byte further.
const COPIES: usize = 4;

/// Rows of a block that share copies.
const SHARING: usize = 4;

/// Threads of a row.
const WARP: u32 = 32;

/// How a warp multiplies polynomials of degree below n; the text that does it is `toeplitz.cuh`, whose letters these are.
#[derive(Debug, Clone)]
pub(super) struct TensorRows {
    n: usize,
    extra: usize,
    /// Rows of a block, if they multiply by one large factor, which is prepared.
    sharing: Option<usize>,
}

impl TensorRows {
    /// Rows for polynomials of degree below n.
    pub(super) const fn of_degree(n: usize) -> Self {
        Self { n, extra: 0, sharing: None }
    }

    /// The same with this much shared memory of the kernel's own.
    pub(super) const fn extra_shared(self, bytes: usize) -> Self {
        Self { extra: bytes.next_multiple_of(16), ..self }
    }

    /// The same for a kernel whose items have one large factor, which is prepared.
    pub(super) const fn one_matrix(self) -> Self {
        Self { sharing: Some(SHARING), ..self }
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

    /// The place in a copy of the coefficient 0, from which the others go back, a byte each.
    const fn origin(&self) -> usize {
        TILE * self.tiles()
    }

    /// Words between a copy and the next one.
    const fn pitch(&self) -> usize {
        ((self.origin() + self.block()) / 4 + 1 + 23) / 32 * 32 + 8
    }

    const fn copies_bytes(&self) -> usize {
        4 * DIGITS * COPIES * self.pitch()
    }

    const fn sums_bytes(&self) -> usize {
        4 * (self.cells() + self.cells() / (2 * self.block()) * 8 + 8)
    }

    /// Bytes of a large factor as it is prepared: the first copy of each digit.
    pub(super) const fn large_bytes(&self) -> usize {
        4 * DIGITS * self.pitch()
    }

    /// Bytes of a small factor as it is prepared: its coefficients, and zeros.
    pub(super) const fn small_bytes(&self) -> usize {
        COLUMNS * self.block()
    }

    /// Prepares a large factor.
    pub(super) fn prepare_large(&self, coefficients: &[i16], prepared: &mut [u8]) {
        prepared.fill(0);
        let (low, high) = prepared.split_at_mut(4 * self.pitch());
        for (c, &x) in coefficients.iter().enumerate() {
            let above = (x + (1 << (DIGIT_BITS - 1))) >> DIGIT_BITS;
            let at = self.origin() - c;
            (low[at], high[at]) = ((x - (above << DIGIT_BITS)) as u8, above as u8);
        }
    }

    /// A large factor from what is prepared of it.
    pub(super) fn take_large(&self, prepared: &[u8], coefficients: &mut [i16]) {
        let (low, high) = prepared.split_at(4 * self.pitch());
        let digit = |byte: u8| i16::from(byte as i8);
        for (c, x) in coefficients.iter_mut().enumerate() {
            let at = self.origin() - c;
            *x = (digit(high[at]) << DIGIT_BITS) + digit(low[at]);
        }
    }

    /// The kernel made concrete: these rows as `Rq`, then further lines of its own.
    pub(super) fn build(&self, further: &str) -> Built {
        let (cells, extra, copies) = (self.cells(), self.extra, self.copies_bytes());
        let (one_matrix, tile) = (self.sharing.is_some(), self.sharing.unwrap_or(1));
        let row_bytes = self.sums_bytes() + if one_matrix { 0 } else { copies };
        let prelude = format!(
            r#"#pragma once
#include "ring.cuh"
struct Rq {{
    using Cell = rf::u32;
    struct M {{
        using Twiddle = rf::u32;
    }};
    static constexpr rf::u32 n = {cells}, base = 1, rows = 1, per_item = 1, above = 1, stride = 1;
    static constexpr rf::u32 threads = {WARP}, tile = {tile}, cluster = 1, together = 1, row_bytes = {row_bytes}, extra = {extra};
    static constexpr bool one_matrix = {one_matrix}, several = false, natural_order = false, whole_warps = true;
}};
{further}#include "ctru_prime_tensor.cuh"
"#
        );
        let shared = tile * (row_bytes + extra) + if one_matrix { copies } else { 0 };
        let launch = Launch {
            items_per_block: tile as u32,
            shared_bytes: shared as u32,
            ..Launch::thread_per_item(WARP * tile as u32)
        };
        Built { prelude, launch }
    }
}
