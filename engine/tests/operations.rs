//! Operations of pipelines on elements between transforms, compared with slow reference code. Operations that need no
//! transform are tested in rings with any moduli, too.

use num_bigint::BigUint;
use ringforge::factorization::Factorization;
use ringforge::{
    Device, Engine, Error, Job, Limits, Modulus, Op, Order, Pipeline, Planner, PolyType, Quotient, Ring, U256, Value,
};
use ringforge_testkit::{naive, residues};

use crate::rings;

/// The rings of the transform tests, and rings without transforms.
fn all_rings() -> Vec<PolyType> {
    let sparse = |n| Quotient::Sparse { n, terms: vec![(1, -1), (0, 1)] };
    let wide = |hex| Modulus::from_hex(hex).expect("a modulus");
    let even = wide(&format!("8{:0>63}", 0));
    let moduli = [Modulus::new(2u32), Modulus::new(1u64 << 32), Modulus::new(u64::MAX), Modulus::new(U256::MAX)];
    let mut others: Vec<PolyType> =
        moduli.map(|q| PolyType::from(Ring::new(&[q.expect("a modulus")], sparse(5)).expect("a ring"))).into();
    others.push(PolyType::from(Ring::new(&[even], sparse(3)).expect("a ring")));
    others.push(PolyType::from(Ring::rns(7, &[rings::modulus(256), rings::modulus(81)]).expect("a ring")));
    others.push(PolyType::from(
        Ring::rns(12, &[rings::modulus(1 << 63), rings::modulus(u64::MAX), rings::modulus(7)]).expect("a ring"),
    ));
    let stored: Vec<PolyType> = others.iter().flat_map(rings::stored_otherwise).collect();
    rings::rings().into_iter().chain(others).chain(stored).collect()
}

#[test]
fn sums_equal_the_oracle() {
    let engine = Engine::cpu();
    for ring in all_rings() {
        let rows = ring.basis().len();
        // a basis of several moduli, one of them above 64 bits, supports sums of reduced residues only
        let multiples = rows == 1 || ring.basis().iter().all(|q| q.bits() <= 64);
        if !multiples && ring.accepts_any_word() {
            continue;
        }
        let each: Vec<U256> = (0..rows).map(|row| U256::MAX.wrapping_sub(&U256::from(row as u64))).collect();
        let p = engine.pipeline("sums");
        let [a, b] = ["a", "b"].map(|name| p.coefficients(name, &ring));
        p.output("a + b", a + b);
        p.output("a - b", a - b);
        p.output("-a", -a);
        if multiples {
            p.output("each a", a.scale(&each));
            p.output("7 b", b.scale(&[U256::from(7u32)]));
        }
        let program = engine.compile(p).expect("a program");
        for batch in [1, 2, 5] {
            let (x, y) = (residues(&ring, 1, batch), residues(&ring, 2, batch));
            let (plain_x, plain_y) = (naive::to_plain(&ring, &x), naive::to_plain(&ring, &y));
            let minus_y = naive::negate(&ring, &plain_y);
            let wanted = [
                ("a + b", naive::add(&ring, &plain_x, &plain_y)),
                ("a - b", naive::add(&ring, &plain_x, &minus_y)),
                ("-a", naive::negate(&ring, &plain_x)),
                ("each a", naive::scale(&ring, &plain_x, &each)),
                ("7 b", naive::scale(&ring, &plain_y, &vec![U256::from(7u32); rows])),
            ];
            let wanted = &wanted[..if multiples { 5 } else { 3 }];
            let mut found = vec![vec![0u8; batch * ring.bytes()]; wanted.len()];
            let call = program.on_host(batch).input("a", &x).input("b", &y);
            let outputs = found.iter_mut().zip(wanted);
            outputs.fold(call, |call, (found, (name, _))| call.output(name, found)).run().expect("a run");
            for (found, (name, wanted)) in found.iter().zip(wanted) {
                assert!(*found == naive::to_stored(&ring, wanted), "{name} in {ring}, batch {batch}");
            }
        }
    }
}

#[test]
fn sums_need_equal_types() {
    let engine = Engine::on(Device::cpu());
    let [ring, other]: [PolyType; 2] = ["17,97:x^4+1", "17:x^4+1"].map(|text| text.parse().expect("a ring"));
    let refused = |make: fn(&Pipeline, &PolyType, &PolyType)| {
        let p = engine.pipeline("mixed");
        make(&p, &ring, &other);
        matches!(p.build(), Err(Error::Plan { .. }))
    };
    assert!(refused(|p, ring, other| p.output("c", p.coefficients("a", ring) + p.coefficients("b", other))));
    assert!(refused(|p, ring, _| p.output("c", p.coefficients("a", ring) - p.coefficients("b", ring).forward())));
    assert!(refused(|p, _, _| p.output("c", -p.bytes("a", 16))));
    assert!(refused(|p, ring, _| p.output("c", p.coefficients("a", ring).scale(&[U256::ONE; 3]))));
    assert!(refused(|p, ring, _| p.output("c", p.coefficients("a", ring).scale(&[]))));
}

const ORDERS: [Order; 2] = [Order::DigitReversed, Order::Natural];

/// The output "to" of a pipeline with these inputs, run on the CPU.
fn run(batch: usize, inputs: &[(&str, &[u8])], bytes: usize, make: impl FnOnce(&Pipeline)) -> Vec<u8> {
    let engine = Engine::cpu();
    let p = engine.pipeline("operation");
    make(&p);
    let program = engine.compile(p).expect("a program");
    let mut to = vec![0u8; batch * bytes];
    let call = inputs.iter().fold(program.on_host(batch), |call, (name, bytes)| call.input(name, bytes));
    call.output("to", &mut to).run().expect("a run");
    to
}

fn negacyclic(n: usize, moduli: &[Modulus]) -> PolyType {
    PolyType::from(Ring::rns(n, moduli).expect("a ring"))
}

#[test]
fn automorphisms_equal_the_oracle() {
    let (prime, modulus) = (rings::prime, rings::modulus);
    let rings = [
        negacyclic(16, &[modulus(97)]),
        negacyclic(64, &[prime(60, 128), prime(59, 128)]),
        negacyclic(32, &[prime(30, 64), prime(28, 64)]),
        negacyclic(8, &[Modulus::from_hex(rings::BLS12_381_R).expect("a modulus")]),
        PolyType::from(Ring::cyclic(12, modulus(13)).expect("a ring")),
        PolyType::from(Ring::cyclic(64, modulus(257)).expect("a ring")),
    ];
    let stored = rings.iter().flat_map(rings::stored_otherwise).collect::<Vec<_>>();
    for ring in rings.into_iter().chain(stored) {
        let factorization = Factorization::of(&ring, None).expect("a factorization");
        let a = residues(&ring, 1, 3);
        let plain = naive::to_plain(&ring, &a);
        for k in [1, 5, 7, 2 * ring.degree() - 1, 2 * ring.degree() + 5] {
            let image = naive::automorphism(&ring, k, &plain);
            let found = run(3, &[("a", &a)], ring.bytes(), |p| {
                p.output("to", p.coefficients("a", &ring).automorphism(k as u64));
            });
            assert!(found == naive::to_stored(&ring, &image), "x^{k} of coefficients in {ring}");
            for order in ORDERS.into_iter().filter(|_| factorization.leaf_degree() == 1) {
                let values = |a: &[U256]| naive::to_stored(&ring, &naive::forward(&ring, &factorization, order, a));
                let found = run(3, &[("a", &values(&plain))], ring.bytes(), |p| {
                    p.output("to", p.evaluations("a", &ring, order).automorphism(k as u64));
                });
                assert!(found == values(&image), "x^{k} of values in {ring}, {order}");
            }
        }
    }
    // k that define no automorphism, and a ring without automorphisms
    let engine = Engine::cpu();
    for (ring, k) in [("97:x^16+1", 2u64), ("13:x^12-1", 3), ("97:x^16+1", 0), ("3457:x^768-x^384+1", 5)] {
        let p = engine.pipeline("refused");
        p.output("to", p.coefficients("a", ring.parse::<PolyType>().expect("a ring")).automorphism(k));
        assert!(matches!(p.build(), Err(Error::Plan { .. })), "{ring} {k}");
    }
}

#[test]
fn rotations_move_slots() {
    let ring = negacyclic(16, &[rings::modulus(97)]);
    let a = residues(&ring, 5, 2);
    let rotated = |steps: &[i64]| {
        run(2, &[("a", &a)], ring.bytes(), |p| {
            let a = p.coefficients("a", &ring);
            p.output("to", steps.iter().fold(a, |a, &steps| a.rotate(steps)));
        })
    };
    assert_eq!(rotated(&[1, 2]), rotated(&[3]));
    assert_eq!(rotated(&[3, -3]), rotated(&[8]), "there are 8 slots");
    let five = naive::automorphism(&ring, 5, &naive::to_plain(&ring, &a));
    assert_eq!(rotated(&[1]), naive::to_stored(&ring, &five));
    // a ring with a single slot, which rotations do not move; and rings without slots
    let small = negacyclic(2, &[rings::modulus(97)]);
    let b = residues(&small, 5, 1);
    assert_eq!(
        run(1, &[("a", &b)], small.bytes(), |p| p.output("to", p.coefficients("a", &small).rotate(i64::MIN))),
        b
    );
    let engine = Engine::cpu();
    for ring in ["97:x^16-1", "13:x^3+1"] {
        let p = engine.pipeline("refused");
        p.output("to", p.coefficients("a", ring.parse::<PolyType>().expect("a ring")).rotate(1));
        assert!(matches!(p.build(), Err(Error::Plan { .. })), "{ring}");
    }
}

/// The integers in [0, Q) that an element represents, where Q is the product of its moduli.
fn integers(ring: &PolyType, plain: &[U256]) -> Vec<BigUint> {
    let big = |x: &U256| BigUint::from_bytes_le(x.to_le_bytes().as_ref());
    let moduli: Vec<BigUint> = ring.basis().iter().map(|q| big(&q.value())).collect();
    let product: BigUint = moduli.iter().product();
    let n = ring.degree();
    let integer = |i: usize| {
        let term = |(row, q): (usize, &BigUint)| {
            let weight = &product / q;
            let inverse = weight.modinv(q).expect("coprime moduli");
            weight * inverse * big(&plain[row * n + i])
        };
        moduli.iter().enumerate().map(term).sum::<BigUint>() % &product
    };
    (0..n).map(integer).collect()
}

#[test]
fn quotients_are_rounded() {
    let (prime, modulus) = (rings::prime, rings::modulus);
    let bases = [
        vec![prime(60, 64), prime(59, 64), prime(50, 64)],
        vec![prime(30, 64), prime(29, 64), prime(28, 64), prime(27, 64)],
        vec![modulus(97), modulus(193)],
    ];
    for (basis, form) in bases.iter().flat_map(|basis| [false, true].map(|form| (basis, form))) {
        let ring = negacyclic(8, basis);
        let ring = if form { rings::stored_otherwise(&ring).pop().expect("another form") } else { ring };
        let factorization = Factorization::of(&ring, Some(3)).expect("a factorization");
        for (moduli, elements) in (1..basis.len()).flat_map(|moduli| [(moduli, 1), (moduli, 3)]) {
            let batch = 3;
            let many = ring.vector(elements).expect("a ring");
            let a = residues(&many, 7, batch);
            let plain = naive::to_plain(&many, &a);
            let left = ring.limbs(0..basis.len() - moduli).expect("limbs");
            let many_left = left.vector(elements).expect("a ring");
            let divisor: BigUint = basis[basis.len() - moduli..].iter().map(integers_of).product();
            let mut wanted = Vec::new();
            for element in plain.chunks_exact(basis.len() * ring.degree()) {
                let integers = integers(&ring, element);
                for q in left.basis() {
                    let residue = |x: &BigUint| (x + (&divisor - 1u32) / 2u32) / &divisor % integers_of(q);
                    wanted.extend(integers.iter().map(|x| {
                        let mut bytes = residue(x).to_bytes_le();
                        bytes.resize(32, 0);
                        U256::from_le_slice(&bytes)
                    }));
                }
            }
            let about = format!("{elements} of {ring} by {moduli}");
            let found = run(batch, &[("a", &a)], many_left.bytes(), |p| {
                p.output("to", p.coefficients("a", &many).divide_round(moduli));
            });
            assert!(found == naive::to_stored(&left, &wanted), "{about}");
            for order in ORDERS {
                let values = |ring: &PolyType, factorization: &Factorization, plain: &[U256]| {
                    naive::to_stored(ring, &naive::forward(ring, factorization, order, plain))
                };
                let content = many.evaluations_after(3, order);
                let found = run(batch, &[("a", &values(&ring, &factorization, &plain))], many_left.bytes(), |p| {
                    p.output("to", p.elements("a", content).divide_round(moduli));
                });
                let factorization = Factorization::of(&left, Some(3)).expect("a factorization");
                assert!(found == values(&left, &factorization, &wanted), "{about}, values in {order}");
            }
        }
    }
    // a rescaling by no modulus; by all moduli of an element; of limbs that are not those of a vector
    let engine = Engine::cpu();
    let ring = negacyclic(8, &bases[2]);
    let rows = PolyType::from(Ring::new(ring.basis(), ring.ring().quotient().clone()).expect("a ring"))
        .with_limbs(&[0, 1, 0])
        .expect("a ring");
    for (ring, moduli) in [(&ring, 0), (&ring, 2), (&ring.vector(2).expect("a ring"), 2), (&rows, 1)] {
        let p = engine.pipeline("refused");
        p.output("to", p.coefficients("a", ring).divide_round(moduli));
        assert!(matches!(p.build(), Err(Error::Plan { .. })), "{ring} by {moduli}");
    }
}

fn integers_of(q: &Modulus) -> BigUint {
    BigUint::from_bytes_le(q.value().to_le_bytes().as_ref())
}

#[test]
fn vectors_have_a_limited_number_of_elements() {
    let ring = negacyclic(4, &[rings::modulus(97), rings::modulus(193)]);
    assert_eq!(ring.vector(1).as_ref(), Ok(&ring));
    assert_eq!(ring.vector(3).map(|ring| ring.bytes()), Ok(3 * ring.bytes()));
    assert!(matches!(ring.vector(0), Err(Error::Ring { .. })));
    for count in [1 << 22, usize::MAX] {
        assert!(matches!(ring.vector(count), Err(Error::TooLarge { .. })), "{count}");
    }
}

#[test]
fn elements_of_vectors_are_converted_one_by_one() {
    let (prime, n) = (rings::prime, 8);
    let [from, to] = [negacyclic(n, &[prime(60, 64), prime(59, 64)]), negacyclic(n, &[prime(50, 64); 1])];
    for op in [Op::Convert, Op::ConvertCentred, Op::ConvertFast] {
        let [two_from, two_to] = [&from, &to].map(|ring| ring.vector(2).expect("a ring"));
        let a = residues(&two_from, 3, 3);
        let one = run(6, &[("a", &a)], to.bytes(), |p| {
            p.output("to", p.job(&Job::new(&from, op).to(&to), &[p.coefficients("a", &from)]));
        });
        let both = run(3, &[("a", &a)], two_to.bytes(), |p| {
            p.output("to", p.job(&Job::new(&two_from, op).to(&two_to), &[p.coefficients("a", &two_from)]));
        });
        assert_eq!(one, both, "{op}");
    }
}

#[test]
fn inner_products_equal_the_oracle() {
    let (prime, modulus) = (rings::prime, rings::modulus);
    let goldilocks = modulus(0xffff_ffff_0000_0001);
    let rings = [
        negacyclic(16, &[modulus(97)]),
        negacyclic(128, &[modulus(65_537), modulus(257)]),
        negacyclic(8, &[prime(60, 16), prime(62, 16)]),
        negacyclic(32, &[prime(30, 64), prime(28, 64)]),
        negacyclic(8, &[goldilocks]),
        negacyclic(4, &[Modulus::from_hex(rings::BLS12_381_R).expect("a modulus")]),
    ];
    let stored = rings.iter().flat_map(rings::stored_otherwise).collect::<Vec<_>>();
    for ring in rings.into_iter().chain(stored) {
        let factorization = Factorization::of(&ring, None).expect("a factorization");
        for (count, sets, batch) in [(1, 1, 1), (3, 2, 2), (13, 1, 3), (25, 2, 1)] {
            let many = ring.vector(count).expect("a ring");
            let key_ring = ring.vector(count * sets).expect("a ring");
            let (a, keys) = (residues(&many, 1, batch), residues(&key_ring, 2, 1));
            let (plain, plain_keys) = (naive::to_plain(&many, &a), naive::to_plain(&key_ring, &keys));
            let size = ring.basis().len() * ring.degree();
            let mut wanted = Vec::new();
            for (item, set) in (0..batch).flat_map(|item| (0..sets).map(move |set| (item, set))) {
                let mut sum = vec![U256::ZERO; size];
                for j in 0..count {
                    let x = &plain[(item * count + j) * size..][..size];
                    let y = &plain_keys[(set * count + j) * size..][..size];
                    sum = naive::add(&ring, &sum, &naive::point_mul(&ring, &factorization, Order::DigitReversed, x, y));
                }
                wanted.extend(sum);
            }
            let sums = ring.vector(sets).expect("a ring");
            let values = |ring: &PolyType| ring.evaluations_after(factorization.depth(), Order::DigitReversed);
            let found = run(batch, &[("a", &a), ("keys", &keys)], sums.bytes(), |p| {
                let keys = p.shared("keys", key_ring.bytes()).holding(values(&key_ring));
                p.output("to", p.elements("a", values(&many)).inner_product(&ring, keys, sets));
            });
            assert!(found == naive::to_stored(&sums, &wanted), "{count} terms, {sets} sets in {ring}");
        }
    }
}

#[test]
fn keys_of_a_chain_serve_all_its_levels() {
    let primes: Vec<Modulus> = [60, 50, 59, 49, 58].map(|bits| rings::prime(bits, 64)).into();
    let (all, batch, sets) = (negacyclic(8, &primes), 2, 2);
    let key_ring = all.vector(3 * sets).expect("a ring");
    let keys = residues(&key_ring, 2, 1);
    // keys without the limbs in the middle, without the last limbs, and without the first limbs
    for (left, count) in [(vec![0, 4], 1), (vec![0, 1, 2, 4], 2), (vec![0, 1], 3), (vec![2, 3, 4], 2)] {
        let ring = negacyclic(8, &left.iter().map(|&limb| primes[limb]).collect::<Vec<_>>());
        let few = ring.vector(count * sets).expect("a ring");
        let row = all.bytes() / primes.len();
        let limbs = (0..sets * count).flat_map(|key| left.iter().map(move |limb| (key, limb)));
        let few_keys: Vec<u8> = limbs
            .flat_map(|(key, limb)| {
                let key = key / count * 3 + key % count;
                keys[(key * primes.len() + limb) * row..][..row].to_vec()
            })
            .collect();
        let many = ring.vector(count).expect("a ring");
        let a = residues(&many, 1, batch);
        let values = |ring: &PolyType| ring.evaluations_after(3, Order::DigitReversed);
        let sums = |keys: &Vec<u8>, of: &PolyType| {
            run(batch, &[("a", &a), ("keys", keys)], sets * ring.bytes(), |p| {
                let keys = p.shared("keys", of.bytes()).holding(values(of));
                p.output("to", p.elements("a", values(&many)).inner_product(&ring, keys, sets));
            })
        };
        assert_eq!(sums(&keys, &key_ring), sums(&few_keys, &few), "{left:?}");
    }
}

#[test]
fn groups_of_limbs_are_raised() {
    let (prime, modulus) = (rings::prime, rings::modulus);
    let bases = [
        (vec![prime(60, 64), prime(59, 64), prime(50, 64), prime(49, 64)], 3),
        (vec![prime(30, 64), prime(29, 64), prime(28, 64), prime(27, 64)], 4),
        (vec![modulus(97), modulus(193), modulus(257)], 2),
    ];
    let (n, batch) = (8, 3);
    for (to, own) in bases.iter().map(|(basis, own)| (negacyclic(n, basis), *own)) {
        for to in core::iter::once(to.clone()).chain(rings::stored_otherwise(&to)) {
            let ring = to.limbs(0..own).expect("limbs");
            let a = residues(&ring, 3, batch);
            let (plain, all) = (naive::to_plain(&ring, &a), to.basis().len());
            for limbs in [1, 2, if own < all { usize::MAX } else { own - 1 }] {
                let groups: Vec<_> = (0..own).step_by(limbs).map(|at| at..own.min(at.saturating_add(limbs))).collect();
                let many = to.vector(groups.len()).expect("a ring");
                let found = run(batch, &[("a", &a)], many.bytes(), |p| {
                    p.output("to", p.coefficients("a", &ring).raise(limbs, &to).vector());
                });
                let raised = naive::to_plain(&many, &found);
                for (i, element) in raised.chunks_exact(all * n).enumerate() {
                    let group = groups[i % groups.len()].clone();
                    let from = &plain[(i / groups.len() * own + group.start) * n..][..group.len() * n];
                    assert!(element[group.start * n..group.end * n] == *from, "a group of {limbs} stays in {to}");
                    let product: BigUint = to.basis()[group.clone()].iter().map(integers_of).product();
                    let of_group = integers(&to.limbs(group.clone()).expect("limbs"), from);
                    for (place, x) in of_group.iter().enumerate() {
                        let is = |integer: BigUint| {
                            let other = |limb: &usize| !group.contains(limb);
                            (0..all).filter(other).all(|limb| {
                                let residue = element[limb * n + place];
                                &integer % integers_of(&to.basis()[limb])
                                    == BigUint::from_bytes_le(&residue.to_le_bytes())
                            })
                        };
                        let few = (0..group.len()).any(|u| is(x + &product * u));
                        assert!(few, "a group of {limbs} raised to {to}, place {place}");
                    }
                }
                for order in ORDERS {
                    let values = |ring: &PolyType, plain: &[U256]| {
                        let factorization = Factorization::of(ring, Some(3)).expect("a factorization");
                        naive::to_stored(ring, &naive::forward(ring, &factorization, order, plain))
                    };
                    let content = ring.evaluations_after(3, order);
                    let found = run(batch, &[("a", &values(&ring, &plain))], many.bytes(), |p| {
                        p.output("to", p.elements("a", content).raise(limbs, &to).vector());
                    });
                    assert!(found == values(&many, &raised), "{limbs} raised to {to}, values in {order}");
                }
            }
        }
    }
    // an empty group of limbs; no modulus to raise to; a basis that `to` does not begin with; a target basis with
    // duplicate moduli
    let engine = Engine::cpu();
    let [ring, other]: [PolyType; 2] = ["97,193:x^8+1", "193,97,257:x^8+1"].map(|text| text.parse().expect("a ring"));
    let twice = ring.vector(2).expect("a ring");
    for (limbs, to) in [(0, &ring), (2, &ring), (1, &other), (1, &twice)] {
        let p = engine.pipeline("refused");
        p.output("to", p.coefficients("a", &ring).raise(limbs, to).vector());
        assert!(matches!(p.build(), Err(Error::Plan { .. })), "{limbs} to {to}");
    }
}

#[test]
fn raised_digits_are_multiplied_as_vectors() {
    let rings = [
        negacyclic(8, &[rings::prime(60, 16), rings::prime(59, 16), rings::prime(50, 16), rings::prime(40, 16)]),
        negacyclic(64, &[30u32, 29, 28, 27, 26].map(|bits| rings::prime(bits, 128))),
    ];
    for to in rings {
        for (own, limbs) in [(1, 1), (2, 1), (3, 2), (3, 3), (to.basis().len(), 3)] {
            let (ring, batch) = (to.limbs(0..own).expect("limbs"), 3);
            let keys_of = to.vector(2 * own.div_ceil(limbs)).expect("a type");
            let (a, keys) = (residues(&ring, 5, batch), residues(&keys_of, 6, 1));
            let values = |ring: &PolyType| ring.evaluations(Order::DigitReversed).expect("evaluations");
            let sums = |in_place: bool| {
                run(batch, &[("a", &a), ("keys", &keys)], 2 * to.bytes(), |p| {
                    let keys = p.shared("keys", keys_of.bytes()).holding(values(&keys_of));
                    let digits = p.elements("a", values(&ring)).raise(limbs, &to);
                    let sums = match in_place {
                        true => digits.inner_product(keys, 2),
                        false => digits.vector().inner_product(&to, keys, 2),
                    };
                    p.output("to", sums);
                })
            };
            assert_eq!(sums(true), sums(false), "digits of {limbs} of {own} limbs in {to}");
        }
    }
}

#[test]
fn further_terms_are_added_to_inner_products() {
    let rings = [
        negacyclic(8, &[rings::prime(60, 16), rings::prime(59, 16), rings::prime(50, 16), rings::prime(40, 16)]),
        negacyclic(64, &[30u32, 29, 28].map(|bits| rings::prime(bits, 128))),
    ];
    for to in rings {
        let (ring, batch) = (to.limbs(0..2).expect("limbs"), 3);
        let values = |ring: &PolyType| ring.evaluations(Order::DigitReversed).expect("evaluations");
        let [pair, keys_of, sums_of] = [(&ring, 2), (&to, 4), (&to, 2)].map(|(of, n)| of.vector(n).expect("a type"));
        let inputs = [residues(&ring, 5, batch), residues(&keys_of, 6, 1), residues(&pair, 7, batch)];
        let (factors, constants) = ([3u32, 5].map(U256::from), [7u32, 11].map(U256::from));
        // a constant has the same value everywhere
        let constant = constants.iter().flat_map(|number| vec![*number; to.degree()]).collect::<Vec<_>>();
        let constant = naive::to_stored(&ring, &constant).repeat(batch);
        let [a, keys, others] = &inputs;
        for (count, has_constant) in [(1, false), (1, true), (2, false), (2, true)] {
            let all = [("a", &a[..]), ("keys", keys), ("others", others), ("constant", &constant)];
            let sums = |in_one: bool| {
                let inputs = if in_one || !has_constant { &all[..3] } else { &all };
                run(batch, inputs, sums_of.bytes(), |p| {
                    let keys = p.shared("keys", keys_of.bytes()).holding(values(&keys_of));
                    let digits = p.elements("a", values(&ring)).raise(1, &to).automorphism(3);
                    let others = p.elements("others", values(&pair));
                    if in_one {
                        let constants = if has_constant { &constants[..] } else { &[] };
                        let digits = digits.plus(others.limbs(0..2 * count), &factors, constants);
                        p.output("to", digits.inner_product(keys, 2));
                        return;
                    }
                    let sums = digits.inner_product(keys, 2);
                    let part = |i: usize| {
                        let sum = sums.element(i).limbs(0..2);
                        let further = || others.element(i).automorphism(3).scale(&factors);
                        let sum = if i < count { sum + further() } else { sum };
                        if i == 0 && has_constant { sum + p.elements("constant", values(&ring)) } else { sum }
                    };
                    let rest = |i: usize| sums.element(i).limbs(2..to.basis().len());
                    p.output("to", p.join(values(&sums_of), &[part(0), rest(0), part(1), rest(1)]));
                })
            };
            let (found, wanted) = (sums(true), sums(false));
            assert!(found == wanted, "{count} terms in {to}, constant: {has_constant}");
        }
    }
}

#[test]
fn inner_products_of_pairs_are_those_of_their_elements() {
    for ring in
        [negacyclic(16, &[rings::modulus(97)]), negacyclic(64, &[30u32, 29].map(|bits| rings::prime(bits, 128)))]
    {
        let values = |ring: &PolyType| ring.evaluations(Order::DigitReversed).expect("evaluations");
        let vector = |count: usize| ring.vector(count).expect("a type");
        let (pairs, keys_of, batch) = (residues(vector(6), 5, 2), vector(9), 2);
        let keys = residues(&keys_of, 6, 1);
        let sums = |together: bool| {
            run(batch, &[("pairs", &pairs), ("keys", &keys)], vector(6).bytes(), |p| {
                let (pairs, keys) = (p.elements("pairs", values(&vector(6))), p.shared("keys", keys_of.bytes()));
                let keys = keys.holding(values(&keys_of));
                if together {
                    p.output("to", pairs.inner_product(vector(2), keys, 3));
                    return;
                }
                let part = |part: usize| {
                    let elements = [part, part + 2, part + 4].map(|i| pairs.element(i));
                    p.join(values(&vector(3)), &elements).inner_product(&ring, keys, 3)
                };
                p.output("to", p.join(values(&vector(6)), &[part(0), part(1)]));
            })
        };
        assert_eq!(sums(true), sums(false), "{ring}");
    }
}

#[test]
fn tensor_products_are_products_of_their_parts() {
    let goldilocks = rings::modulus(0xffff_ffff_0000_0001);
    let rings = [
        negacyclic(16, &[rings::modulus(97)]),
        negacyclic(128, &[rings::modulus(65_537), rings::modulus(257)]),
        negacyclic(8, &[rings::prime(60, 16), rings::prime(62, 16), rings::prime(40, 16)]),
        negacyclic(32, &[rings::prime(30, 64), rings::prime(28, 64)]),
        negacyclic(8, &[goldilocks]),
        negacyclic(4, &[Modulus::from_hex(rings::BLS12_381_R).expect("a modulus")]),
    ];
    let stored = rings.iter().flat_map(rings::stored_otherwise).collect::<Vec<_>>();
    for ring in rings.into_iter().chain(stored) {
        let pair = ring.vector(2).expect("a type");
        let values = |ring: &PolyType| ring.evaluations(Order::DigitReversed).expect("evaluations");
        let (a, b) = (residues(&pair, 7, 3), residues(&pair, 8, 3));
        let products = |tensor: bool| {
            run(3, &[("a", &a), ("b", &b)], 3 * ring.bytes(), |p| {
                let [a, b] = ["a", "b"].map(|name| p.elements(name, values(&pair)));
                let all = values(&ring.vector(3).expect("a type"));
                if tensor {
                    let [pair, square] = a.tensor(b);
                    p.output("to", p.join(all, &[pair.element(0), pair.element(1), square]));
                } else {
                    let [a0, a1] = [0, 1].map(|i| a.element(i));
                    let [b0, b1] = [0, 1].map(|i| b.element(i));
                    p.output("to", p.join(all, &[a0 * b0, a0 * b1 + a1 * b0, a1 * b1]));
                }
            })
        };
        assert_eq!(products(true), products(false), "{ring}");
    }
}

/// Steps on each element of a vector give what steps on separate elements give: on views and joined values, in place,
/// with values that all items share, and inside of plans that are parts of other plans.
#[test]
fn each_element_of_a_vector() {
    let ring: PolyType = "97,193,257:x^8+1".parse().expect("a ring");
    let (count, batch) = (3, 5);
    let (vector, two) = (ring.vector(count).expect("a type"), ring.limbs(0..2).expect("limbs"));
    let (a, b, shared) = (residues(&vector, 1, batch), residues(&vector, 2, batch), residues(&two, 3, 1));
    let inputs = [("a", &a[..]), ("b", &b[..]), ("shared", &shared[..])];
    let made = two.vector(count).expect("a type");
    // for an element of each vector and the shared element
    fn work<'p>(p: &'p Pipeline, ring: &PolyType, [a, b, shared]: [Value<'p>; 3]) -> Value<'p> {
        let sum = a.limbs(0..2) + b.limbs(0..2).scale(&[U256::from(5u32)]) - shared;
        let product = sum * a.limbs(0..2);
        let joined = p.join(ring, &[product, b.limbs(2..3)]);
        (joined.divide_round(1) + sum).forward().inverse()
    }
    fn inputs_of<'p>(p: &'p Pipeline, vector: &PolyType, two: &PolyType) -> [Value<'p>; 3] {
        let [a, b] = ["a", "b"].map(|name| p.coefficients(name, vector));
        [a, b, p.shared("shared", two.bytes()).holding(two)]
    }
    let separate = run(batch, &inputs, made.bytes(), |p| {
        let [a, b, shared] = inputs_of(p, &vector, &two);
        let parts: Vec<_> = (0..count).map(|i| work(p, &ring, [a.element(i), b.element(i), shared])).collect();
        p.output("to", p.join(&made, &parts));
    });
    let each = |p: &Pipeline| {
        let [a, b, shared] = inputs_of(p, &vector, &two);
        p.output("to", work(p, &ring, [a.each(), b.each(), shared]).together());
    };
    assert_eq!(run(batch, &inputs, made.bytes(), each), separate);
    // as a part of another plan, whose values are views
    let inner = |planner: &Planner| {
        let p = planner.pipeline("each");
        each(&p);
        p.build().expect("a plan")
    };
    let planner = Planner::new(Limits::of_capability(90));
    let nested = run(batch, &inputs, made.bytes(), |p| {
        let [a, b, shared] = inputs_of(p, &vector, &two);
        let longer = p.join(ring.vector(2 * count).expect("a type"), &[a, b]);
        let [a, b] = [0..9, 9..18].map(|limbs| longer.limbs(limbs));
        let [made] = p.plan(&inner(&planner), &[a, b, shared]);
        p.output("to", made);
    });
    assert_eq!(nested, separate);
    let engine = Engine::cpu();
    let refused = |make: &dyn Fn(&Pipeline)| {
        let p = engine.pipeline("refused");
        make(&p);
        assert!(matches!(p.build(), Err(Error::Plan { .. })));
    };
    // not a vector; divided twice; output in elements; elements and whole items in one step; other numbers of elements
    refused(&|p| p.output("to", p.coefficients("a", &ring).each()));
    refused(&|p| p.output("to", p.coefficients("a", ring.vector(4).expect("a type")).each().each()));
    refused(&|p| p.output("to", -p.coefficients("a", &vector).each()));
    refused(&|p| p.output("to", (p.coefficients("a", &vector).each() + p.coefficients("b", &ring)).together()));
    refused(&|p| {
        let more = p.coefficients("b", ring.vector(4).expect("a type"));
        p.output("to", (p.coefficients("a", &vector).each() + more.each()).together());
    });
}

/// Rings with moduli of up to 64 bits, of every width and every stored form, of odd degree.
fn word_rings() -> Vec<PolyType> {
    let modulus = rings::modulus;
    let bases = [
        vec![modulus(2)],
        vec![modulus(97), modulus(65_521)],
        vec![modulus(1 << 32)],
        vec![rings::prime(30, 2), modulus(3)],
        vec![modulus(1 << 63), modulus(u64::MAX), modulus(7)],
        vec![rings::prime(60, 2), rings::prime(64, 2)],
    ];
    let all: Vec<PolyType> = bases.iter().map(|basis| negacyclic(33, basis)).collect();
    let stored = all.iter().flat_map(rings::stored_otherwise).collect::<Vec<_>>();
    all.into_iter().chain(stored).collect()
}

#[test]
fn digits_equal_the_oracle() {
    let wide = |hex| Modulus::from_hex(hex).expect("a modulus");
    let targets = [vec![wide(rings::BLS12_381_R)], vec![wide(&"f".repeat(64))], vec![rings::modulus(12_289)]];
    let targets: Vec<PolyType> = targets.iter().map(|basis| negacyclic(33, basis)).collect();
    let targets: Vec<PolyType> = targets.iter().flat_map(rings::stored_otherwise).chain(targets.clone()).collect();
    for (i, ring) in word_rings().iter().enumerate() {
        let longest = ring.basis().iter().map(Modulus::bits).max().unwrap_or(0);
        for bits in [1, 2, 7, 20, 31, 32, 63] {
            let count = longest.div_ceil(bits) as usize;
            // target rings: the ring itself, and another ring in rotation
            for to in [ring, &targets[(i + bits as usize) % targets.len()]] {
                let all = to.vector(ring.basis().len() * count).expect("a ring");
                for batch in [1, 5] {
                    let a = residues(ring, 11, batch);
                    let found = run(batch, &[("a", &a)], all.bytes(), |p| {
                        p.output("to", p.coefficients("a", ring).digits(bits, to));
                    });
                    let wanted = naive::digits(ring, bits, count, to, &naive::to_plain(ring, &a));
                    assert!(found == naive::to_stored(to, &wanted), "{bits} bits of {ring} modulo {to}");
                }
            }
        }
    }
}

/// The signed digits of a gadget decomposition, each times its weight, sum up to the centred residue, and are as small
/// as documented.
#[test]
fn digits_are_small_and_exact() {
    let number = |x: &U256, q: &Modulus| {
        let [x, q] =
            [x, &q.value()].map(|x| i128::from(u64::from_le_bytes(x.to_le_bytes()[..8].try_into().expect("8"))));
        if 2 * x > q { x - q } else { x }
    };
    for q in [2, 3, 97, 128, 65_521, (1 << 32) - 5, 1 << 63, u64::MAX].map(rings::modulus) {
        let ring = PolyType::from(Ring::cyclic(40, q).expect("a ring"));
        // in this ring of a 70-bit modulus, digits can be read exactly: they are below 2^63 in absolute value
        let to = PolyType::from(
            Ring::cyclic(40, Modulus::new(U256::ONE.shl_vartime(70)).expect("a modulus")).expect("a ring"),
        );
        let to = to.with_form(ringforge::Form::Plain).expect("a form");
        let (a, batch) = (residues(&ring, 5, 5), 5);
        let plain = naive::to_plain(&ring, &a);
        for bits in 1..=63 {
            let count = q.bits().div_ceil(bits) as usize;
            let found = run(batch, &[("a", &a)], count * to.bytes(), |p| {
                p.output("to", p.coefficients("a", &ring).digits(bits, &to));
            });
            let found = naive::to_plain(&to, &found);
            let small = |x: &U256| {
                let bytes: [u8; 16] = x.to_le_bytes()[..16].try_into().expect("16");
                let x = i128::from_le_bytes(bytes);
                if x >> 69 == 0 { x } else { x - (1 << 70) }
            };
            for (item, place) in (0..batch).flat_map(|item| (0..40).map(move |place| (item, place))) {
                let digits: Vec<i128> = (0..count).map(|i| small(&found[(item * count + i) * 40 + place])).collect();
                let sum: i128 = digits.iter().rev().fold(0, |sum, digit| (sum << bits) + digit);
                assert_eq!(sum, number(&plain[item * 40 + place], &q), "{bits} bits modulo {q}");
                let half = 1i128 << (bits - 1);
                let (last, lower) = digits.split_last().expect("a digit");
                assert!(lower.iter().all(|digit| (-half..half).contains(digit)), "{bits} bits modulo {q}: {digits:?}");
                assert!((-half..=half).contains(last), "{bits} bits modulo {q}: {digits:?}");
            }
        }
    }
}

#[test]
fn unsupported_digits_are_refused() {
    let engine = Engine::cpu();
    let ring: PolyType = "97:x^8+1".parse().expect("a ring");
    let wide = negacyclic(8, &[Modulus::from_hex(rings::BLS12_381_R).expect("a modulus")]);
    let mixed = PolyType::from(Ring::rns(8, &[rings::modulus(97), wide.basis()[0]]).expect("a ring"));
    for (from, bits, to) in [(&ring, 0, &ring), (&ring, 64, &ring), (&wide, 20, &ring), (&ring, 4, &mixed)] {
        let p = engine.pipeline("refused");
        p.output("to", p.coefficients("a", from).digits(bits, to));
        assert!(matches!(p.build(), Err(Error::Unsupported { .. })), "{bits} bits of {from} modulo {to}");
    }
    let p = engine.pipeline("too many");
    p.output("to", p.coefficients("a", &ring).digits(1, ring.vector(1 << 21).expect("a ring")));
    assert!(matches!(p.build(), Err(Error::TooLarge { .. })));
    let other: PolyType = "97:x^4+1".parse().expect("a ring");
    let refused: [fn(&Pipeline, &PolyType, &PolyType); 3] = [
        |p, ring, other| p.output("to", p.coefficients("a", ring).digits(4, other)),
        |p, ring, _| p.output("to", p.coefficients("a", ring).forward().digits(4, ring)),
        |p, ring, _| p.output("to", p.bytes("a", ring.bytes()).digits(4, ring)),
    ];
    for make in refused {
        let p = engine.pipeline("refused");
        make(&p, &ring, &other);
        assert!(matches!(p.build(), Err(Error::Plan { .. })));
    }
}

#[test]
fn extensions_are_padded_with_zeros() {
    let longer = |ring: &PolyType, n| {
        let other = Ring::new(ring.moduli(), Quotient::Cyclic { n }).map(PolyType::from);
        let other =
            other.and_then(|other| other.with_limbs(ring.limb_moduli())?.with_form(ring.form())).expect("a type");
        if ring.accepts_any_word() { other.accepting_any_word() } else { other }
    };
    for ring in all_rings() {
        for n in [ring.degree(), ring.degree() + 1, 2 * ring.degree(), 64 + ring.degree()] {
            let (to, batch) = (longer(&ring, n), 3);
            let a = residues(&ring, 9, batch);
            let row = ring.bytes() / ring.basis().len();
            let zeros = vec![0; to.bytes() / to.basis().len() - row];
            let wanted: Vec<u8> = a.chunks_exact(row).flat_map(|row| [row, &zeros].concat()).collect();
            let found =
                run(batch, &[("a", &a)], to.bytes(), |p| p.output("to", p.coefficients("a", &ring).extend(&to)));
            assert!(found == wanted, "{ring} to {to}");
        }
    }
    let engine = Engine::cpu();
    for (from, to) in [("97:x^8-1", "97:x^4-1"), ("97:x^8-1", "193:x^16-1"), ("97:x^8-1", "97,193:x^16-1")] {
        let [from, to]: [PolyType; 2] = [from, to].map(|text| text.parse().expect("a ring"));
        let p = engine.pipeline("refused");
        p.output("to", p.coefficients("a", &from).extend(&to));
        assert!(matches!(p.build(), Err(Error::Plan { .. })), "{from} to {to}");
    }
    let ring: PolyType = "97:x^8-1".parse().expect("a ring");
    let p = engine.pipeline("refused");
    p.output("to", p.coefficients("a", &ring).forward().extend(&ring));
    assert!(matches!(p.build(), Err(Error::Plan { .. })));
    let p = engine.pipeline("refused");
    p.output("to", p.coefficients("a", &ring).extend(ring.clone().accepting_any_word()));
    assert!(matches!(p.build(), Err(Error::Plan { .. })));
}
