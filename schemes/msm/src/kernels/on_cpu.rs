//! CPU references of the kernels: the same bytes by simple means.

use core::ops::Range;

use ringforge::Result;
use ringforge::kernels::Args;

use crate::digits::Scalars;
use crate::field::Field;
use crate::group::{Affine, Group, Xyzz};

use super::{CHUNK, LEVELS, LOG_GROUP, OK, Pass, Segments, Shape};

const NEGATIVE: u32 = 1 << 31;

/// The bucket of a sorted entry.
const fn bucket_of(entry: u64) -> u32 {
    (entry >> 32) as u32
}

/// The sizes of a multiplication's arrays and the starts of its buckets.
struct Buckets<'a> {
    shape: Shape,
    starts: &'a [u32],
}

impl Buckets<'_> {
    fn start(&self, window: usize, bucket: usize) -> usize {
        self.starts[window * (self.shape.buckets() + 1) + bucket] as usize
    }

    fn slot(&self, window: usize, bucket: usize) -> usize {
        window * self.shape.slots() + (self.start(window, bucket) + bucket) / 2
    }
}

pub(super) fn digits(shape: Shape, of: &Scalars, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    args.each(items, |_, (scalars, keys, refused): (&[[u64; 4]], &mut [u32], &mut [u32])| {
        let none = shape.buckets() as u32;
        refused.fill(0);
        for i in 0..shape.count {
            let scalar = scalars.get(i).copied().unwrap_or_default();
            if !of.is_reduced(&scalar) {
                let worst = &mut refused[i / shape.tuning.sort_threads as usize];
                *worst = (*worst).max((shape.count - i) as u32);
            }
            for (window, digit) in of.digits(scalar, shape.windows).enumerate() {
                let sign = if digit < 0 { NEGATIVE } else { 0 };
                keys[window * shape.count + i] = match digit.unsigned_abs() {
                    0 => none,
                    size => (size - 1).min(none) | sign,
                };
            }
        }
        Ok(())
    })
}

/// The values of a pass and their bins, by segment and position.
fn binned(shape: Shape, pass: Pass, values: &[u8], starts: &[u32], at: usize) -> (u64, usize) {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
    match pass {
        Pass::Low => {
            let key = word(&values[4 * at..][..4]) as u32;
            let (bucket, sign) = (key & !NEGATIVE, key & NEGATIVE);
            let value = u64::from(bucket) << 32 | u64::from((at % shape.length()) as u32 | sign);
            (value, bucket as usize & ((1 << shape.low_bits()) - 1))
        }
        Pass::High => {
            let entry = word(&values[8 * at..][..8]);
            (entry, bucket_of(entry) as usize >> shape.low_bits())
        }
        Pass::Levels => {
            let (entry, buckets) = (word(&values[8 * at..][..8]), Buckets { shape, starts });
            let (window, bucket, pairs) = (at / shape.length(), bucket_of(entry) as usize, shape.pair_levels());
            if bucket >= shape.buckets() {
                return (at as u64, LEVELS - 1);
            }
            let rank = at - window * shape.length() - buckets.start(window, bucket);
            match rank.trailing_zeros() {
                _ if rank == 0 => (at as u64, LEVELS - 1),
                0 => (at as u64, 0),
                level if level < pairs => ((buckets.slot(window, bucket) + rank / 2) as u64, level as usize),
                level if (level - pairs).is_multiple_of(LOG_GROUP) && (rank >> level) % (1 << LOG_GROUP) == 1 => {
                    (at as u64, (pairs + (level - pairs) / LOG_GROUP) as usize)
                }
                _ => (at as u64, LEVELS - 1),
            }
        }
    }
}

fn starts_of(pass: Pass, starts: &[u32]) -> &[u32] {
    if pass == Pass::Levels { starts } else { &[] }
}

pub(super) fn count(shape: Shape, pass: Pass, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    let Segments { length, bins, tiles, .. } = shape.segments(pass);
    args.each(items, |_, (values, starts, counts): (&[u8], &[u32], &mut [u32])| {
        counts.fill(0);
        for at in 0..shape.entries() {
            let (_, bin) = binned(shape, pass, values, starts_of(pass, starts), at);
            counts[(at / length * bins + bin) * tiles + at % length / shape.tuning.tile] += 1;
        }
        Ok(())
    })
}

pub(super) fn sums(segments: Segments, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    args.each(items, |_, (counts, sums): (&[u32], &mut [u32])| {
        let chunks = counts.chunks(segments.counts()).flat_map(|segment| segment.chunks(CHUNK));
        sums.iter_mut().zip(chunks).for_each(|(sum, chunk)| *sum = chunk.iter().sum());
        Ok(())
    })
}

pub(super) fn prefix(segments: Segments, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    args.each(items, |_, (_, counts): (&[u32], &mut [u32])| {
        for segment in counts.chunks_mut(segments.counts()) {
            let mut sum = 0;
            segment.iter_mut().for_each(|count| (*count, sum) = (sum, sum + *count));
        }
        Ok(())
    })
}

pub(super) fn scatter(shape: Shape, pass: Pass, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    let Segments { length, .. } = shape.segments(pass);
    args.each(items, |_, (values, starts, _, sorted): (&[u8], &[u32], &[u32], &mut [u8])| {
        let size = sorted.len() / shape.entries();
        for (segment, sorted) in sorted.chunks_mut(size * length).enumerate() {
            let of = |at| binned(shape, pass, values, starts_of(pass, starts), segment * length + at);
            let mut all: Vec<(u64, usize)> = (0..length).map(of).collect();
            all.sort_by_key(|(_, bin)| *bin);
            for (to, (value, _)) in sorted.chunks_mut(size).zip(all) {
                to.copy_from_slice(&value.to_le_bytes()[..size]);
            }
        }
        Ok(())
    })
}

pub(super) fn starts(shape: Shape, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    args.each(items, |_, (entries, starts): (&[u64], &mut [u32])| {
        for (list, starts) in entries.chunks(shape.length()).zip(starts.chunks_mut(shape.buckets() + 1)) {
            for (bucket, start) in starts.iter_mut().enumerate() {
                *start = list.partition_point(|entry| (bucket_of(*entry) as usize) < bucket) as u32;
            }
        }
        Ok(())
    })
}

type PairsPorts<'a, F> = (&'a [Affine<F>], &'a [u64], &'a [u32], &'a [u32], &'a [u32], &'a mut [Affine<F>]);

pub(super) fn pairs<F: Field>(shape: Shape, group: &Group<F>, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    args.each(items, |_, (bases, entries, starts, _, _, slots): PairsPorts<'_, F>| {
        let buckets = Buckets { shape, starts };
        slots.fill(Group::<F>::infinity());
        for (window, list) in entries.chunks(shape.length()).enumerate() {
            let base = |entry: &u64| {
                let index = (*entry as u32 & !NEGATIVE) as usize;
                group.negate_if(*entry as u32 & NEGATIVE != 0, bases[index.min(bases.len() - 1)])
            };
            for bucket in 0..shape.buckets() {
                let own = &list[buckets.start(window, bucket)..buckets.start(window, bucket + 1)];
                let slots = slots[buckets.slot(window, bucket)..].iter_mut();
                for (slot, pair) in slots.zip(own.chunks(2)) {
                    *slot = match pair {
                        [one, two] => group.add_affine(&base(one), &base(two)),
                        other => other.first().map_or_else(Group::<F>::infinity, base),
                    };
                }
            }
        }
        Ok(())
    })
}

pub(super) fn level<F: Field>(
    shape: Shape,
    group: &Group<F>,
    level: u32,
    items: Range<usize>,
    args: &mut Args<'_>,
) -> Result<()> {
    let tiles = shape.segments(Pass::Levels).tiles;
    args.each(items, |_, (counts, list, slots): (&[u32], &[u32], &mut [Affine<F>])| {
        let place = |level: u32| counts[level as usize * tiles] as usize;
        for right in &list[place(level)..place(level + 1)] {
            let (right, distance) = (*right as usize, 1 << (level - 1));
            slots[right - distance] = group.add_affine(&slots[right - distance], &slots[right]);
        }
        Ok(())
    })
}

type GroupsPorts<'a, F> = (&'a [u64], &'a [u32], &'a [u32], &'a [u32], &'a mut [Affine<F>]);

pub(super) fn groups<F: Field>(
    shape: Shape,
    group: &Group<F>,
    level: u32,
    bin: u32,
    items: Range<usize>,
    args: &mut Args<'_>,
) -> Result<()> {
    let tiles = shape.segments(Pass::Levels).tiles;
    args.each(items, |_, (entries, starts, counts, list, slots): GroupsPorts<'_, F>| {
        let buckets = Buckets { shape, starts };
        let place = |bin: u32| counts[bin as usize * tiles] as usize;
        for at in &list[place(bin)..place(bin + 1)] {
            let (window, bucket) = (*at as usize / shape.length(), bucket_of(entries[*at as usize]) as usize);
            let first = *at as usize % shape.length() - (1 << level) - buckets.start(window, bucket);
            let size = buckets.start(window, bucket + 1) - buckets.start(window, bucket);
            let sums = (size - first).div_ceil(1 << level).min(1 << LOG_GROUP);
            let slot = buckets.slot(window, bucket) + first / 2;
            let own = slots[slot..].iter().step_by(1 << (level - 1)).take(sums);
            slots[slot] = group.to_affine(&own.fold(group.zero(), |sum, point| group.add_mixed(&sum, point)));
        }
        Ok(())
    })
}

pub(super) fn halves<F: Field>(shape: Shape, group: &Group<F>, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    args.each(items, |_, (slots, starts, sums): (&[Affine<F>], &[u32], &mut [Affine<F>])| {
        let (buckets, half) = (Buckets { shape, starts }, shape.buckets() / 2);
        for (window, sums) in sums.chunks_mut(2 * half).enumerate() {
            let sum = |bucket| match buckets.start(window, bucket) < buckets.start(window, bucket + 1) {
                true => slots[buckets.slot(window, bucket)],
                false => Group::<F>::infinity(),
            };
            for i in 0..half {
                sums[i] = group.add_affine(&sum(2 * i), &sum(2 * i + 1));
                sums[half + i] = group.add_affine(&sum(i), &sum(half + i));
            }
        }
        Ok(())
    })
}

pub(super) fn fold<F: Field>(
    shape: Shape,
    group: &Group<F>,
    level: u32,
    items: Range<usize>,
    args: &mut Args<'_>,
) -> Result<()> {
    args.each(items, |_, (sums,): (&mut [Affine<F>],)| {
        let half = shape.buckets() / 2;
        let pairs = half >> level;
        for sums in sums.chunks_mut(2 * half) {
            let (rows, columns) = sums.split_at_mut(half);
            for i in 0..pairs {
                if level < shape.windows.columns() {
                    rows[i << level] = group.add_affine(&rows[i << level], &rows[(i << level) + (1 << (level - 1))]);
                }
                columns[i] = group.add_affine(&columns[i], &columns[i + pairs]);
            }
        }
        Ok(())
    })
}

pub(super) fn windows<F: Field>(
    shape: Shape,
    group: &Group<F>,
    (threads, folds): (u32, u32),
    items: Range<usize>,
    args: &mut Args<'_>,
) -> Result<()> {
    type Ports<'a, F> = (&'a [Affine<F>], &'a [u32], &'a mut [Xyzz<F>], &'a mut u32);
    args.each(items, |_, (sums, refused, totals, status): Ports<'_, F>| {
        let (half, columns) = (shape.buckets() / 2, shape.windows.columns());
        for (part, total) in totals.iter_mut().enumerate() {
            let own = &sums[part * half..(part + 1) * half];
            let of_columns = part % 2 == 1;
            // base-2 logarithms of the lines, of the points of a line, and of the distances of lines and points
            let (lines, folded) = if of_columns {
                (columns, folds.min(shape.windows.width - 2 - columns))
            } else {
                (shape.windows.width - 1 - columns, folds.min(columns - 1))
            };
            let points = shape.windows.width - 2 - lines - folded;
            let (line_step, point_step) = if of_columns { (0, columns) } else { (columns - 1, folded) };
            // in the order of the kernel, because coordinates depend on the order
            let (share, sharing) = (lines.saturating_sub(threads.ilog2()), threads.ilog2().saturating_sub(lines));
            let sums = (0..threads as usize).map(|thread| {
                let (from, part) = (thread >> sharing << share, thread % (1 << sharing));
                let (mut run, mut sum) = (group.zero(), group.zero());
                for line in (from..from + (1 << share)).rev() {
                    if !of_columns {
                        sum = group.add(&sum, &run);
                    }
                    for point in (part..1 << points).step_by(1 << sharing) {
                        run = group.add_mixed(&run, &own[(line << line_step) + (point << point_step)]);
                    }
                    if of_columns {
                        sum = group.add(&sum, &run);
                    }
                }
                ((0..share).fold(run, |run, _| group.double(&run)), sum)
            });
            let mut sums: Vec<(Xyzz<F>, Xyzz<F>)> = sums.collect();
            for step in 0..threads.ilog2() {
                let pairs = sums.chunks(2).map(|pair| {
                    let (plain, weighted) = (group.add(&pair[0].0, &pair[1].0), group.add(&pair[0].1, &pair[1].1));
                    match step < sharing {
                        true => (plain, weighted),
                        false => (group.double(&plain), group.add(&weighted, &pair[1].0)),
                    }
                });
                sums = pairs.collect();
            }
            *total = sums[0].1;
        }
        *status = match refused.iter().max() {
            None | Some(0) => OK,
            Some(worst) => OK + 1 + (shape.count as u32 - worst),
        };
        Ok(())
    })
}

pub(super) fn doubles<F: Field>(group: &Group<F>, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
    args.each(items, |_, (points, doubles): (&[Affine<F>], &mut [Affine<F>])| {
        doubles.iter_mut().zip(points).for_each(|(double, point)| *double = group.add_affine(point, point));
        Ok(())
    })
}
