//! Compares twiddle tables with the definition of their entries.

use crypto_bigint::U256;

use super::*;
use crate::{Quotient, Ring};
use ringforge_math::modulus::low_u64;
use ringforge_math::poly::{Form, PolyType};
use ringforge_runtime::kernel::{Copies, Slice};

/// The twiddle factors of one limb as plain values, by definition.
fn defined(factorization: &Factorization, row: usize, arithmetic: Arithmetic) -> Vec<U256> {
    let Roots { q, start, step } = factorization.roots()[row];
    let pow = |x: U256, e: u64| q.pow(&x, &U256::from(e));
    let inverse = |x: U256| q.inverse(&x).expect("a unit");
    let one = q.reduce(&U256::ONE);
    let t = factorization.tree_leaves() as u64;
    let scale = inverse(q.reduce(&U256::from(t)));
    let factor = arithmetic.product_factor(factorization.poly(), &q);
    let first = usize::from(factorization.has_sixth());
    let z = |layer: usize, node: usize| {
        let above: u64 =
            factorization.layers()[first.min(layer)..layer].iter().map(|layer| layer.radix() as u64).product();
        let radix = match factorization.layers()[layer] {
            Layer::Sixth => return pow(start, t),
            kind => kind.radix() as u64,
        };
        let right = factorization.has_sixth() && node >= factorization.nodes(layer) / 2;
        let start = if right { pow(start, 5) } else { start };
        q.mul(&pow(start, t / above / radix), &pow(step, factorization.exponent(layer, node).unwrap() / radix))
    };
    let last = |scale: U256| match factorization.layers().first() {
        None => [scale, one, one],
        Some(Layer::Two) => [scale, q.mul(&scale, &inverse(z(0, 0))), one],
        Some(Layer::Three) => [0, 1, 2].map(|e| q.mul(&scale, &pow(inverse(z(0, 0)), e))),
        Some(Layer::Sixth) => {
            let double = q.add(&z(0, 0), &z(0, 0));
            [scale, q.mul(&scale, &inverse(q.sub(&double, &one))), z(0, 0)]
        }
    };
    let sigma = if factorization.layers().contains(&Layer::Three) { pow(step, t / 3) } else { one };
    let mut row_values = vec![sigma];
    row_values.extend(last(scale));
    row_values.extend(last(q.mul(&scale, &factor)));
    row_values.push(factor);
    for backward in [false, true] {
        for (layer, kind) in factorization.layers().iter().enumerate() {
            for node in 0..factorization.nodes(layer) {
                let z = z(layer, node);
                let z = if backward && *kind != Layer::Sixth { inverse(z) } else { z };
                row_values.push(z);
                row_values.extend((*kind == Layer::Three).then(|| q.mul(&z, &z)));
            }
        }
    }
    if factorization.leaf_degree() > 1 {
        row_values.extend((0..factorization.leaves()).map(|leaf| factorization.leaf_constant(row, leaf).unwrap()));
    }
    if row_values.len() % 2 == 1 {
        row_values.push(one);
    }
    // for each node of the last layer: its twiddle factor divided by that of the leftmost node under the same node
    // three layers above
    if let Some(last) = factorization.layers().len().checked_sub(1)
        && last > 2
        && factorization.layers()[last - 3..].iter().all(|layer| *layer == Layer::Two)
    {
        let node = if factorization.nodes(last) > 8 { 8 } else { 0 };
        let roots = (0..8).map(|i| q.mul(&z(last, node + i), &inverse(z(last, node)))).collect::<Vec<_>>();
        row_values.extend_from_slice(&roots);
        row_values.extend(roots.into_iter().map(inverse));
    }
    row_values
}

fn made(kernel: &Twiddles, items: Range<usize>) -> Vec<u8> {
    let bytes = items.len() * kernel.ports[1].bytes;
    let roots = kernel.roots();
    let mut table = vec![0u128; bytes.div_ceil(16)]; // aligned for every type of factor
    let out = &mut bytemuck::cast_slice_mut(&mut table)[..bytes];
    let copies = Copies::new(2);
    let mut args = Args::new("twiddles", kernel.ports(), vec![Slice::In(&roots), Slice::Out(out)], &copies);
    kernel.on_cpu(items, &mut args).expect("a table");
    bytemuck::cast_slice(&table)[..bytes].to_vec()
}

#[test]
fn entries_match_the_definition_in_every_range() {
    let q = |q: u64| Modulus::new(q).expect("a modulus");
    let bls = Modulus::from_hex("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001").expect("a modulus");
    let rings = [
        Ring::negacyclic(256, q(3329)).map(PolyType::from),
        Ring::trinomial(768, q(3457)).map(PolyType::from),
        Ring::trinomial(144, q(3457)).map(PolyType::from),
        Ring::cyclic(81, q(163)).map(PolyType::from),
        Ring::cyclic(7, q(17)).map(PolyType::from),
        Ring::negacyclic(48, q(0xffff_ffff_0000_0001)).map(PolyType::from),
        Ring::negacyclic(48, q(0xffff_ffff_ff00_0001)).map(PolyType::from),
        Ring::new(&[q(1_073_479_681), q(12289)], Quotient::Negacyclic { n: 64 }).map(PolyType::from),
        Ring::new(&[q(4_293_918_721), q(12289)], Quotient::Cyclic { n: 48 }).map(PolyType::from),
        Ring::cyclic(96, bls).map(PolyType::from),
        Ring::negacyclic(48, q(0xffff_ffff_0000_0001))
            .and_then(|poly| PolyType::from(poly).with_form(Form::Montgomery)),
        Ring::negacyclic(48, q(0xffff_ffff_ff00_0001))
            .and_then(|poly| PolyType::from(poly).with_form(Form::Montgomery)),
        Ring::new(&[q(4_293_918_721), q(12289)], Quotient::Cyclic { n: 48 })
            .and_then(|poly| PolyType::from(poly).with_form(Form::Montgomery)),
        Ring::cyclic(96, bls).and_then(|poly| PolyType::from(poly).with_form(Form::Plain)),
    ];
    let cases = rings.map(|poly| poly.map(|poly| (Arithmetic::of(&poly), poly)));
    let doubles = Ring::new(&[q(1_125_899_906_840_833), q(562_949_953_417_729)], Quotient::Negacyclic { n: 64 });
    for case in cases.into_iter().chain([
        doubles.map(|poly| (Arithmetic::Mod50, poly.into())),
        Ring::cyclic(64, bls).map(|poly| (Arithmetic::Mod255, poly.into())),
        Ring::negacyclic(64, q(1_152_921_092_289_986_561)).map(|poly| (Arithmetic::Mod64Friendly, poly.into())),
    ]) {
        let (arithmetic, poly) = case.expect("a ring");
        assert!(poly.moduli().iter().all(|q| 4 * arithmetic.constants(q).len() == arithmetic.bytes()));
        let whole = Factorization::of(&poly, None).expect("a factorization");
        (0..poly.moduli().len()).for_each(|modulus| check(&whole, modulus, arithmetic));
    }
}

/// Compares the table of one modulus, ranges of it and its column-major layouts with the definition.
fn check(factorization: &Factorization, modulus: usize, arithmetic: Arithmetic) {
    let (poly, q) = (factorization.poly(), &factorization.roots()[modulus].q);
    let rows = KernelLayout { arithmetic, ..KernelLayout::with_split(factorization, &Limits::default()) };
    let of_columns = |columns| {
        let layout = Layout::of(factorization.shape(), columns);
        Twiddles::new(&KernelLayout { layout, ..rows.clone() }, modulus)
    };
    let kernel = of_columns(factorization.layers().len());
    let each = arithmetic.twiddle_bytes();
    let len = kernel.layout.len;
    let table = made(&kernel, 0..len);
    let wanted = defined(factorization, modulus, arithmetic);
    assert_eq!(wanted.len(), len);
    for (i, value) in wanted.iter().enumerate() {
        let value = match arithmetic {
            Arithmetic::Mod64Full | Arithmetic::Goldilocks => {
                q.mul(value, &q.pow(&U256::from(2u32), &U256::from(64u32)))
            }
            Arithmetic::Mod256 => q.to_montgomery(value),
            _ => *value,
        };
        let mut wanted = value.to_le_bytes().as_ref()[..arithmetic.word_bytes()].to_vec();
        if arithmetic == Arithmetic::Mod50 {
            let q = low_u64(&q.value()) as i64;
            let value = low_u64(&value) as i64;
            let centred = if value > q / 2 { value - q } else { value } as f64;
            wanted = [centred, centred / q as f64].map(f64::to_le_bytes).concat();
        }
        if arithmetic == Arithmetic::Mod64Friendly {
            let v = if value == U256::ZERO { 0 } else { low_u64(&q.value()) - low_u64(&value) };
            wanted = v.wrapping_neg().to_le_bytes().to_vec();
        }
        assert_eq!(table[i * each..][..wanted.len()], wanted, "{poly} entry {i}");
    }
    for start in (0..len).step_by(5) {
        for end in [start, start + 1, start + 2, start + 9, len] {
            let end = end.min(len);
            assert_eq!(made(&kernel, start..end), table[start * each..end * each], "{poly} {start}..{end}");
        }
    }
    for columns in 0..factorization.layers().len() {
        let by_columns = of_columns(columns);
        let entries = made(&by_columns, 0..len);
        for (entry, place) in table.chunks_exact(each).zip(by_columns.layout.places(factorization.shape())) {
            assert_eq!(entry, &entries[place * each..][..each], "{poly} columns {columns}");
        }
        let middle = len / 3..len - 1;
        assert_eq!(made(&by_columns, middle.clone()), entries[middle.start * each..middle.end * each]);
    }
}
