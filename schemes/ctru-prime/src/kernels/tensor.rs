//! Layout of products on tensor cores, each computed by one warp: shared-memory sizes and the generated CUDA header.

use ringforge::kernels::{Built, Launch};

/// Columns of the matrix of the small operand, whose coefficients fit a byte.
const COLUMNS: usize = 8;

/// Rows of an `mma` tile of the Toeplitz matrix, which holds the large operand (residues modulo q).
const TILE: usize = 16;

/// Digits per coefficient of the large operand, and bits per digit.
const DIGITS: usize = 2;
const DIGIT_BITS: u32 = 7;

/// Copies of each digit of the large operand, each shifted by one more byte.
const COPIES: usize = 4;

/// Warps per block if they share the copies of one large operand.
const SHARING: usize = 4;

/// Threads per product.
const WARP: u32 = 32;

/// The layout of a product of two polynomials of degree below n, computed by one warp with the CUDA source in
/// `toeplitz.cuh`. The methods have the names that are defined in that file.
#[derive(Debug, Clone)]
pub(super) struct TensorRows {
    n: usize,
    extra: usize,
    /// The number of warps per block that share one large operand; `None` if each warp has its own operand.
    sharing: Option<usize>,
}

impl TensorRows {
    /// Returns the layout for polynomials of degree below n.
    pub(super) const fn of_degree(n: usize) -> Self {
        Self { n, extra: 0, sharing: None }
    }

    /// Adds this many bytes of shared memory per product for the kernel's own use.
    pub(super) const fn extra_shared(self, bytes: usize) -> Self {
        Self { extra: bytes.next_multiple_of(16), ..self }
    }

    /// Returns the layout in which the warps of a block share one large operand.
    pub(super) const fn one_matrix(self) -> Self {
        Self { sharing: Some(SHARING), ..self }
    }

    /// Coefficients of the small operand in each of the eight columns.
    const fn block(&self) -> usize {
        32 * self.n.div_ceil(32 * COLUMNS)
    }

    const fn tiles(&self) -> usize {
        let delay = self.block() / TILE;
        (self.n + self.block() - 1).div_ceil(self.block()) * delay
    }

    /// The number of words for the unreduced coefficients of a product. Kernels may use them for other data before and
    /// after the product.
    pub(super) const fn cells(&self) -> usize {
        TILE * self.tiles() + (COLUMNS - 1) * self.block()
    }

    /// The offset in bytes of coefficient 0 in a copy. Coefficient c is stored c bytes before coefficient 0.
    const fn origin(&self) -> usize {
        TILE * self.tiles()
    }

    /// Stride between the copies of the large operand, in 32-bit words.
    const fn pitch(&self) -> usize {
        ((self.origin() + self.block()) / 4 + 1 + 23) / 32 * 32 + 8
    }

    const fn copies_bytes(&self) -> usize {
        4 * DIGITS * COPIES * self.pitch()
    }

    const fn sums_bytes(&self) -> usize {
        4 * (self.cells() + self.cells() / (2 * self.block()) * 8 + 8)
    }

    /// Size in bytes of a prepared large operand, as stored with a prepared key: the first copy of each digit.
    pub(super) const fn large_bytes(&self) -> usize {
        4 * DIGITS * self.pitch()
    }

    /// Size in bytes of a prepared small operand, as stored with a prepared key: its coefficients, then zeros.
    pub(super) const fn small_bytes(&self) -> usize {
        COLUMNS * self.block()
    }

    /// Writes the prepared form of a large operand: two digits per coefficient.
    pub(super) fn prepare_large(&self, coefficients: &[i16], prepared: &mut [u8]) {
        prepared.fill(0);
        let (low, high) = prepared.split_at_mut(4 * self.pitch());
        for (c, &x) in coefficients.iter().enumerate() {
            let above = (x + (1 << (DIGIT_BITS - 1))) >> DIGIT_BITS;
            let at = self.origin() - c;
            (low[at], high[at]) = ((x - (above << DIGIT_BITS)) as u8, above as u8);
        }
    }

    /// Reads the coefficients of a large operand from its prepared form, two digits per coefficient.
    pub(super) fn take_large(&self, prepared: &[u8], coefficients: &mut [i16]) {
        let (low, high) = prepared.split_at(4 * self.pitch());
        let digit = |byte: u8| i16::from(byte as i8);
        for (c, x) in coefficients.iter_mut().enumerate() {
            let at = self.origin() - c;
            *x = (digit(high[at]) << DIGIT_BITS) + digit(low[at]);
        }
    }

    /// Returns the generated CUDA header and the launch of a kernel. The header defines `Rq` for this layout and then
    /// has the lines `further`.
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
