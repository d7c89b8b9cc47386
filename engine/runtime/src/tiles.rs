//! How the thread blocks of a kernel divide the bytes of an item into tiles, one per block. Tiles are the unit of
//! overlap: some tiles of an item can be copied while blocks work on others.

#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

use core::iter;
use core::ops::Range;

/// How the thread blocks of an item divide the item's bytes at one port. Each block's tile is a range of columns of a
/// matrix.
///
/// The item's bytes form `areas` matrices (areas) of equal size, one after another. Each matrix is row-major and has
/// `rows` rows. The item's blocks are divided evenly among the areas, in order. The blocks of an area divide its
/// columns evenly, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TileGrid {
    /// Number of areas of an item.
    pub areas: usize,
    /// Number of rows of each area.
    pub rows: usize,
}

/// How the thread blocks of an item divide the item's bytes at each port, as declared together with the kernel's CUDA
/// source.
#[derive(Debug, Clone, Default)]
pub struct Tiles {
    /// Thread blocks per item.
    #[doc(hidden)]
    pub blocks: usize,
    /// The tiles at each port, in the order of the ports. `None` if the source declares none for a port.
    pub(crate) columns: Vec<Option<TileGrid>>,
}

impl Tiles {
    /// The declared tiles of the port with this index, if there are any.
    #[doc(hidden)]
    pub fn of(&self, port: usize) -> Option<TileGrid> {
        self.columns.get(port).copied().flatten()
    }
}

/// A strided part of an item: `rows` runs of `width` contiguous bytes each. The first run begins at byte `offset`, and
/// the runs have a stride of `pitch` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub offset: usize,
    pub rows: usize,
    pub width: usize,
    pub pitch: usize,
}

impl TileGrid {
    /// Returns which bytes of an item the thread blocks `blocks` work on, if the item has `bytes` bytes and
    /// `blocks_per_item` blocks. Returns `None` if these bytes do not form a [`Shape`], or if the bytes or blocks
    /// cannot be divided evenly.
    #[doc(hidden)]
    pub fn shape(self, bytes: usize, blocks_per_item: usize, blocks: &Range<usize>) -> Option<Shape> {
        let Self { areas, rows } = self;
        let share = |whole: usize, parts: usize| whole.checked_div(parts).filter(|part| part * parts == whole);
        let (area, per_area) = (share(bytes, areas)?, share(blocks_per_item, areas).filter(|blocks| *blocks > 0)?);
        let pitch = share(area, rows)?;
        let column = share(pitch, per_area)?;
        let (first, skipped) = (blocks.start / per_area, blocks.start % per_area);
        if skipped == 0 && blocks.len().is_multiple_of(per_area) {
            return Some(Shape::run(first * area, blocks.len() / per_area * area));
        }
        let within = skipped + blocks.len() <= per_area;
        let (offset, width) = (first * area + skipped * column, blocks.len() * column);
        within.then_some(if rows == 1 { Shape::run(offset, width) } else { Shape { offset, rows, width, pitch } })
    }

    /// Divides an item's thread blocks into about `wanted` ranges. The bytes that the blocks of a range work on form a
    /// [`Shape`].
    #[doc(hidden)]
    pub fn cut(self, blocks_per_item: usize, wanted: usize) -> Vec<Range<usize>> {
        let per_area = blocks_per_item.checked_div(self.areas).unwrap_or(0);
        if per_area == 0 {
            return iter::once(0..blocks_per_item).collect();
        }
        let (areas, pieces) = match wanted.div_ceil(self.areas).min(per_area) {
            0 | 1 => (wanted.clamp(1, self.areas), 1),
            pieces => (self.areas, pieces),
        };
        let area = |i: usize| i * self.areas / areas * per_area;
        let cut = |i: usize| {
            let (start, blocks) = (area(i), area(i + 1) - area(i));
            (0..pieces).map(move |k| start + k * blocks / pieces..start + (k + 1) * blocks / pieces)
        };
        (0..areas).flat_map(cut).collect()
    }
}

impl Shape {
    /// A single run: `bytes` contiguous bytes that begin at `offset`.
    pub const fn run(offset: usize, bytes: usize) -> Self {
        Self { offset, rows: 1, width: bytes, pitch: bytes }
    }

    /// The total number of bytes in all runs.
    pub const fn bytes(&self) -> usize {
        self.rows * self.width
    }

    /// The number of bytes from the beginning of the first run to the end of the last one.
    pub(crate) const fn extent(&self) -> usize {
        self.rows.saturating_sub(1) * self.pitch + self.width
    }

    /// Whether the byte with this index in the item is in one of the runs.
    #[cfg(feature = "testkit")]
    #[doc(hidden)]
    pub fn contains(&self, byte: usize) -> bool {
        let within = byte.checked_sub(self.offset).filter(|at| *at < self.extent());
        within.is_some_and(|at| at % self.pitch < self.width)
    }

    /// Cuts the shape into pieces of at most this many bytes. A piece consists of whole runs, or is part of a run that
    /// is longer than `bytes`.
    pub(crate) fn pieces(self, bytes: usize) -> impl Iterator<Item = Self> {
        let Self { offset, rows, width, pitch } = self;
        let wide = width.min(bytes).max(1);
        let high = (bytes / wide).max(1);
        (0..rows).step_by(high).flat_map(move |y| {
            let rows = high.min(rows - y);
            (0..width).step_by(wide).map(move |x| {
                let offset = offset + y * pitch + x;
                Self { offset, rows, width: wide.min(width - x), pitch }
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The indices of all bytes of a shape.
    fn bytes(shape: Shape) -> impl Iterator<Item = usize> {
        (0..shape.rows).flat_map(move |row| (0..shape.width).map(move |i| shape.offset + row * shape.pitch + i))
    }

    #[test]
    fn blocks_have_columns() {
        let columns = TileGrid { areas: 2, rows: 3 };
        // two areas of three rows of 20 bytes: each of an area's four blocks has 5 bytes of every row
        let shape = |blocks: Range<usize>| columns.shape(120, 8, &blocks);
        assert_eq!(shape(1..3), Some(Shape { offset: 5, rows: 3, width: 10, pitch: 20 }));
        assert_eq!(shape(7..8), Some(Shape { offset: 75, rows: 3, width: 5, pitch: 20 }));
        assert_eq!(shape(4..8), Some(Shape::run(60, 60)));
        assert_eq!(shape(0..8), Some(Shape::run(0, 120)));
        assert_eq!(shape(3..5), None, "in two areas, and whole in neither");
        assert_eq!(shape(0..5), None);
        assert_eq!(columns.shape(120, 7, &(0..1)), None, "blocks are not shared out evenly");
        assert_eq!(columns.shape(121, 8, &(0..1)), None);
        assert_eq!(columns.shape(126, 8, &(0..1)), None);
        assert_eq!(TileGrid { areas: 0, rows: 1 }.shape(120, 8, &(0..1)), None);
    }

    #[test]
    fn cuts_cover_every_byte_once() {
        for (areas, rows, per_area) in [(1, 1, 8), (1, 4, 12), (3, 2, 5), (9, 1, 2), (32, 4, 1)] {
            let (columns, blocks) = (TileGrid { areas, rows }, areas * per_area);
            let len = blocks * rows * 6;
            for wanted in [1, 2, 3, 8, 1000] {
                let cuts = columns.cut(blocks, wanted);
                assert!(
                    (wanted.min(blocks)..=2 * wanted.max(areas)).contains(&cuts.len()),
                    "{columns:?} {wanted}: {cuts:?}"
                );
                let shapes = cuts.iter().map(|cut| columns.shape(len, blocks, cut).unwrap());
                let mut found: Vec<_> = shapes.flat_map(|shape| shape.pieces(5)).flat_map(bytes).collect();
                found.sort_unstable();
                assert!(found.into_iter().eq(0..len), "{columns:?} {wanted}");
            }
        }
    }

    /// The numbers of areas and rows come from a kernel's source. Invalid ones must not lead to panics, or to bytes
    /// outside of the item.
    #[test]
    fn invalid_columns_have_no_shape() {
        for (areas, rows) in [(0, 1), (usize::MAX, 1), (1, usize::MAX), (usize::MAX, usize::MAX), (9, 0)] {
            let columns = TileGrid { areas, rows };
            for wanted in [0, 3, usize::MAX] {
                let cuts = columns.cut(8, wanted);
                assert_eq!((cuts[0].start, cuts[cuts.len() - 1].end), (0, 8));
                assert!(cuts.iter().all(|cut| columns.shape(120, 8, cut).is_none_or(|shape| shape.extent() <= 120)));
            }
        }
    }

    #[test]
    fn pieces_do_not_exceed_the_limit() {
        let shape = Shape { offset: 7, rows: 10, width: 4, pitch: 9 };
        assert_eq!((shape.bytes(), shape.extent()), (40, 85));
        assert_eq!(shape.pieces(12).map(|piece| piece.rows).collect::<Vec<_>>(), [3, 3, 3, 1]);
        assert_eq!(shape.pieces(3).map(|piece| piece.bytes()).collect::<Vec<_>>(), [3, 1].repeat(10));
        assert_eq!(Shape::run(5, 10).pieces(4).map(|piece| piece.width).collect::<Vec<_>>(), [4, 4, 2]);
        assert_eq!(Shape::run(5, 0).pieces(4).count(), 0);
    }
}
