//! Transforms of single limbs on the CPU, compared with slow reference code.

use core::fmt::Debug;

use ringforge::kernels::{Arithmetic, KernelLayout};
use ringforge::words::{Transform, Word};
use ringforge::{Error, Limits, Order, PolyType, Ring, U256};
use ringforge_testkit::naive;
use ringforge_testkit::residues;

use crate::rings::{modulus, prime, rings};

fn rows(ring: &PolyType) -> KernelLayout {
    KernelLayout::of(ring, &Limits::default()).expect("rows")
}

/// Stored residues as words of the arithmetic.
fn words<W: Word>(ring: &PolyType, stored: &[u8]) -> Vec<W> {
    let words = stored.chunks_exact(ring.width().bytes()).map(|bytes| {
        let mut word = W::zeroed();
        bytemuck::bytes_of_mut(&mut word)[..bytes.len()].copy_from_slice(bytes);
        word
    });
    words.collect()
}

/// Calls a generic check with the word type of the ring.
macro_rules! with_words {
    ($check:ident, $rows:expr) => {
        match Arithmetic::of($rows.poly()).word_bytes() {
            4 => $check::<u32>($rows),
            8 => $check::<u64>($rows),
            _ => $check::<[u64; 4]>($rows),
        }
    };
}

/// Checks every method of `Transform` on every limb of two elements.
fn check<W: Word + PartialEq + Debug>(rows: &KernelLayout) {
    let (ring, factorization) = (rows.poly(), rows.factorization());
    let n = ring.degree();
    let plain = [1, 2].map(|seed| naive::to_plain(ring, &residues(ring, seed, 1)));
    let row_of = |plain: &[U256], modulus: usize| -> Vec<W> {
        words(ring, &naive::to_stored(ring, plain))[modulus * n..][..n].to_vec()
    };
    let values = plain.each_ref().map(|a| naive::forward(ring, factorization, Order::DigitReversed, a));
    let product = naive::mul(ring, &plain[0], &plain[1]);
    let mut one = vec![U256::ZERO; plain[0].len()];
    for (row, q) in one.chunks_exact_mut(n).zip(ring.basis()) {
        row[0] = q.reduce(&U256::ONE);
    }
    for (row, &modulus) in ring.limb_moduli().iter().enumerate() {
        let transform = Transform::<W>::of(rows, modulus).unwrap_or_else(|e| panic!("{ring}: {e}"));
        let [mut a, mut b] = plain.each_ref().map(|a| row_of(a, row));
        transform.forward(&mut a).expect("n words");
        transform.forward(&mut b).expect("n words");
        assert_eq!([&a, &b], values.each_ref().map(|values| row_of(values, row)).each_ref(), "forward {rows:?}");
        let mut inverse = a.clone();
        // a matrix of two rows and ten columns with entries a and 0, and a vector with entries b and 0: one sum has more
        // than eight products
        let zero = vec![W::zeroed(); n];
        let (in_matrix, in_vector) = (|i: usize, j: usize| i == 0 || !j.is_multiple_of(3), |j: usize| j != 4);
        let matrix = (0..20).flat_map(|k| if in_matrix(k / 10, k % 10) { &a } else { &zero }).copied();
        let vector = (0..10).flat_map(|j| if in_vector(j) { &b } else { &zero }).copied();
        let mut products = [&*b, &*a].concat();
        transform
            .multiply_matrix(&matrix.collect::<Vec<_>>(), &vector.collect::<Vec<_>>(), &mut products)
            .expect("whole limbs");
        transform.inverse(&mut products).expect("two limbs");
        let sums = [0, 1].map(|i| {
            let terms = (0..10).filter(|&j| in_matrix(i, j) && in_vector(j));
            row_of(&terms.fold(vec![U256::ZERO; plain[0].len()], |sum, _| naive::add(ring, &sum, &product)), row)
        });
        assert_eq!(products, sums.concat(), "matrix {rows:?}");
        let mut both = plain.each_ref().map(|a| row_of(a, row)).concat();
        transform.forward(&mut both).expect("two limbs");
        assert_eq!(both, [&*a, &*b].concat(), "two limbs {rows:?}");
        transform.multiply(&mut a, &b).expect("n words");
        transform.inverse(&mut a).expect("n words");
        assert_eq!(a, row_of(&product, row), "product {rows:?}");
        transform.inverse(&mut b).expect("n words");
        assert_eq!(b, row_of(&plain[1], row), "inverse {rows:?}");

        let element = inverse.clone();
        match transform.invert(&mut inverse) {
            Ok(true) => {
                transform.multiply(&mut inverse, &element).expect("n words");
                transform.inverse(&mut inverse).expect("n words");
                assert_eq!(inverse, row_of(&one, row), "inverse element {rows:?}");
            }
            Ok(false) => assert!(ring.basis()[row].bits() < 18, "{rows:?}"),
            Err(error) => {
                assert!(matches!((factorization.leaf_degree(), error), (5 | 7, Error::Unsupported { .. })), "{rows:?}");
            }
        }
        let mut without = element;
        without[n - factorization.leaf_degree()..].fill(W::zeroed());
        assert_ne!(transform.invert(&mut without).ok(), Some(true), "{rows:?}");
    }
}

#[test]
fn rows_agree_with_the_oracle_in_every_arithmetic() {
    for ring in rings() {
        with_words!(check, &rows(&ring));
    }
    let rings = [
        Ring::trinomial(768, modulus(3457)).map(PolyType::from),
        Ring::trinomial(512, modulus(25_178_113)).map(PolyType::from),
        Ring::trinomial(768, modulus(25_178_113)).map(PolyType::from),
        Ring::trinomial(1024, modulus(25_178_113)).map(PolyType::from),
        Ring::negacyclic(256, modulus(7681)).map(PolyType::from),
    ];
    for ring in rings {
        let rows = rows(&ring.expect("a ring"));
        with_words!(check, &rows);
        with_words!(check, &rows.clone().depth(rows.factorization().depth() - 1).expect("a factorization"));
    }
}

/// The largest primes of several bit lengths that have the roots of unity, with all residues equal to q − 1.
#[test]
fn the_largest_residues_agree_with_the_oracle() {
    for bits in [32, 50, 60, 61, 62, 63, 64] {
        let q = prime(bits, 512);
        let rows = rows(&PolyType::from(Ring::negacyclic(256, q).expect("a ring")));
        let largest = q.value_u64().expect("64 bits") - 1;
        let wanted =
            naive::forward(rows.poly(), rows.factorization(), Order::DigitReversed, &[U256::from(largest); 256]);
        let transform = Transform::<u64>::of(&rows, 0).expect("a transform");
        let mut row = [largest; 256];
        transform.forward(&mut row).expect("n words");
        assert!(row.iter().map(|&x| U256::from(x)).eq(wanted), "{q}");
        transform.inverse(&mut row).expect("n words");
        assert_eq!(row, [largest; 256], "{q}");
    }
}

/// Limbs larger than the L1 cache, checked by the evaluations of two monomials.
#[test]
fn long_rows_have_the_right_values() {
    let rings = [
        Ring::cyclic(4374, prime(30, 4374)).map(PolyType::from),
        Ring::trinomial(12288, modulus(12289)).map(PolyType::from),
        Ring::negacyclic(27648, prime(30, 2 * 27648)).map(PolyType::from),
    ];
    for ring in rings {
        let rows = rows(&ring.expect("a ring"));
        let (ring, factorization) = (rows.poly(), rows.factorization());
        let (n, base, q) = (factorization.poly().degree(), factorization.leaf_degree(), &ring.basis()[0]);
        let transform = Transform::<u32>::of(&rows, 0).expect("a transform");
        let (i, j) = (n - 1, n / 5 * 2);
        let mut row = vec![0; n];
        (row[i], row[j]) = (1, 3);
        let coefficients = row.clone();
        transform.forward(&mut row).expect("n words");
        for (leaf, values) in row.chunks_exact(base).enumerate() {
            let beta = factorization.leaf_constant(0, leaf).expect("a leaf");
            let power = |k: usize| q.pow(&beta, &U256::from((k / base) as u64));
            let mut wanted = vec![U256::ZERO; base];
            wanted[i % base] = power(i);
            wanted[j % base] = q.add(&wanted[j % base], &q.mul(&U256::from(3u32), &power(j)));
            assert!(values.iter().map(|&x| U256::from(x)).eq(wanted), "{rows:?} leaf {leaf}");
        }
        transform.inverse(&mut row).expect("n words");
        assert!(row == coefficients, "{rows:?}");
    }
}

/// Checks that an inverse exists exactly if no evaluation at full depth is zero, for any leaf degree.
fn check_invertible<W: Word>(rows: &KernelLayout) {
    let ring = rows.poly();
    let full = KernelLayout::of(ring, &Limits::default()).expect("rows");
    let transform = Transform::<W>::of(rows, 0).expect("a transform");
    let mut seen = [false; 2];
    for seed in 0..300 {
        let stored = residues(ring, seed, 1);
        let values = naive::forward(ring, full.factorization(), Order::DigitReversed, &naive::to_plain(ring, &stored));
        let wanted = !values.contains(&U256::ZERO);
        let mut row = words(ring, &stored);
        transform.forward(&mut row).expect("n words");
        assert_eq!(transform.invert(&mut row).expect("a degree that norms halve"), wanted, "{rows:?} {seed}");
        seen[usize::from(wanted)] = true;
    }
    assert_eq!(seen, [true; 2], "{rows:?}");
}

#[test]
fn no_inverse_is_missed() {
    let rings = [
        Ring::negacyclic(8, modulus(17)).map(PolyType::from),
        Ring::cyclic(6, modulus(13)).map(PolyType::from),
        Ring::cyclic(8, modulus(257)).map(PolyType::from),
    ];
    for ring in rings {
        let rows = rows(&ring.expect("a ring"));
        for depth in 0..=rows.factorization().depth() {
            check_invertible::<u32>(&rows.clone().depth(depth).expect("a factorization"));
        }
    }
}

#[test]
fn wrong_sizes_are_refused() {
    let rows = rows(&PolyType::from(Ring::negacyclic(256, modulus(3329)).expect("a ring")));
    assert!(matches!(Transform::<u64>::of(&rows, 0), Err(Error::Unsupported { .. })));
    assert!(matches!(Transform::<u32>::of(&rows, 1), Err(Error::TooLarge { .. })));
    let transform = Transform::<u32>::of(&rows, 0).expect("a transform");
    let wrong = |result| matches!(result, Err(Error::Length { expected: 256, .. }));
    assert!(wrong(transform.forward(&mut [0; 255])));
    assert!(matches!(transform.inverse(&mut [0; 257]), Err(Error::Length { expected: 512, got: 257, .. })));
    assert!(wrong(transform.multiply(&mut [0; 256], &[0; 255])));
    assert!(wrong(transform.multiply(&mut [0; 255], &[0; 256])));
    assert!(wrong(transform.invert(&mut []).map(drop)));
    assert!(transform.multiply_matrix(&[0; 512], &[0; 256], &mut [0; 512]).is_ok());
    assert!(transform.multiply_matrix(&[], &[0; 256], &mut []).is_ok());
    let mut out = [1; 256];
    assert!(transform.multiply_matrix(&[], &[], &mut out).is_ok() && out == [0; 256]);
    for (matrix, vector, out) in [(512, 256, 256), (256, 255, 256), (256, 256, 257), (0, 256, 256)] {
        let result = transform.multiply_matrix(&vec![0; matrix], &vec![0; vector], &mut vec![0; out]);
        assert!(matches!(result, Err(Error::Length { .. })), "{matrix} {vector} {out}");
    }
}
