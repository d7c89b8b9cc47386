//! Rings with many moduli, quotients and stored forms, small enough for slow reference code.

use ringforge::{Form, Modulus, PolyType, Quotient, Ring, U256};

pub(crate) const BLS12_381_R: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

pub(crate) fn modulus(q: u64) -> Modulus {
    Modulus::new(q).expect("a modulus")
}

/// The largest prime of this many bits that has a root of unity of this order.
pub(crate) fn prime(bits: u32, order: u64) -> Modulus {
    let order = U256::from(order);
    let top = U256::MAX.wrapping_shr_vartime(256 - bits);
    let excess = top.rem_vartime(&non_zero(order));
    let mut q = top.wrapping_sub(&excess).wrapping_add(&U256::ONE);
    if q > top {
        q = q.wrapping_sub(&order);
    }
    loop {
        let modulus = Modulus::new(q).expect("a modulus");
        if modulus.is_prime() {
            return modulus;
        }
        q = q.wrapping_sub(&order);
    }
}

fn non_zero(x: U256) -> crypto_bigint::NonZero<U256> {
    crypto_bigint::NonZero::new(x).into_option().expect("an order")
}

/// The ring in every stored form that it supports (plain or Montgomery, reduced or any word) except its present one.
pub(crate) fn stored_otherwise(ring: &PolyType) -> Vec<PolyType> {
    let forms = [Form::Plain, Form::Montgomery].into_iter().filter_map(|form| ring.clone().with_form(form).ok());
    forms.flat_map(|ring| [ring.clone(), ring.accepting_any_word()]).filter(|other| other != ring).collect()
}

/// The rings of the transform and product tests. The smaller rings are included in all stored forms.
pub(crate) fn rings() -> Vec<PolyType> {
    let bls = Modulus::from_hex(BLS12_381_R).expect("a modulus");
    let goldilocks = modulus(0xffff_ffff_0000_0001);
    let binomial = |n, c: U256, q| Ring::new(&[q], Quotient::Binomial { n, c });
    let coset = |n: usize, g: u32, q: Modulus| {
        binomial(n, q.pow(&g.into(), &U256::from(n as u64)), q).and_then(|ring| ring.with_root(g))
    };
    let mut rings = vec![
        Ring::negacyclic(256, modulus(3329)),
        Ring::cyclic(64, modulus(257)),
        Ring::cyclic(96, modulus(7681)),
        Ring::negacyclic(128, modulus(12289)),
        Ring::cyclic(1, modulus(2)),
        Ring::cyclic(2, modulus(2)),
        Ring::cyclic(1, modulus(17)),
        Ring::cyclic(2, modulus(17)),
        Ring::cyclic(3, modulus(13)),
        Ring::negacyclic(1, modulus(17)),
        Ring::negacyclic(3, modulus(13)),
        Ring::cyclic(81, modulus(163)),
        Ring::trinomial(512, modulus(3457)),
        Ring::trinomial(768, modulus(3457)),
        Ring::trinomial(1024, modulus(3457)),
        Ring::trinomial(512, modulus(7681)),
        Ring::trinomial(768, modulus(7681)),
        Ring::trinomial(1024, modulus(7681)),
        Ring::trinomial(2, modulus(7)),
        Ring::trinomial(768, modulus(3457)).and_then(|ring| ring.with_root(55u32)),
        Ring::negacyclic(64, modulus(257)).and_then(|ring| ring.with_root(9u32)),
        Ring::cyclic(1344, modulus(3457)),
        binomial(24, U256::from(3456u32), modulus(3457)),
        binomial(32, modulus(12289).root(16).unwrap_or(U256::ONE), modulus(12289)),
        Ring::rns(64, &[modulus(257), modulus(7681), modulus(12289)]),
        Ring::rns(64, &[modulus(7681), prime(30, 128), modulus(12289)]),
        Ring::rns(32, &[prime(30, 128), prime(61, 128), prime(40, 64)]),
        Ring::rns(32, &[prime(30, 128), prime(64, 128), prime(63, 64)]),
        Ring::rns(16, &[bls, modulus(12289), goldilocks]),
        Ring::rns(8, &[modulus(97), modulus(193)]).and_then(|ring| ring.with_roots(&[12u32, 27].map(U256::from))),
    ];
    for bits in [16, 17, 30, 31, 32, 33, 61, 62, 63, 64, 65, 255, 256] {
        rings.push(Ring::negacyclic(64, prime(bits, 128)));
        rings.push(Ring::cyclic(72, prime(bits, 72)));
        rings.push(Ring::trinomial(96, prime(bits, 288)));
        for base in 2..=8 {
            rings.push(Ring::negacyclic(16 * base, prime(bits, 32)));
        }
    }
    for q in [bls, goldilocks] {
        rings.extend([Ring::cyclic(256, q), Ring::negacyclic(128, q), Ring::cyclic(96, q), coset(64, 7, q)]);
    }
    let mapped = |ring: Ring, limbs: &[usize]| PolyType::from(ring).with_limbs(limbs);
    let mapped = [
        Ring::rns(64, &[modulus(257), modulus(7681), modulus(12289)])
            .and_then(|ring| mapped(ring, &[2, 0, 2, 1, 1, 0, 2])),
        Ring::rns(32, &[prime(30, 128), prime(61, 128), prime(40, 64)]).and_then(|ring| mapped(ring, &[0, 1, 1, 2, 0])),
        Ring::negacyclic(32, modulus(12289))
            .and_then(|ring| ring.with_root(563u32))
            .and_then(|ring| mapped(ring, &[0, 0, 0])),
        Ring::rns(16, &[bls, modulus(12289), goldilocks]).and_then(|ring| mapped(ring, &[1, 0, 1])),
    ];
    let rings = rings.into_iter().map(|ring| ring.map(PolyType::from)).chain(mapped);
    let rings = rings.map(|poly| poly.expect("a ring"));
    let every_way = |ring: PolyType| match ring.degree() {
        ..=128 => [stored_otherwise(&ring), vec![ring]].concat(),
        _ => vec![ring],
    };
    rings.flat_map(every_way).collect()
}
