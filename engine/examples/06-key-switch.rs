//! Hybrid key switching (Han–Ki, eprint 2019/688), as used by relinearisation and rotations in RNS schemes. The input d
//! is the component of a ciphertext that is multiplied by a key s'. The outputs c0 and c1 satisfy c0 + c1 s ≈ d s' for
//! another key s.
//!
//! A toy example: its randomness is not secret, and its parameters are not chosen for security.
//!
//! `cargo run --release -p ringforge --example 06-key-switch`

use ringforge::{Engine, Modulus, Order, Pipeline, PolyType, Program, Result, Ring, U256, Value};

const N: usize = 4096;
/// Number of primes of Q per digit. P has the same number of primes.
const ALPHA: usize = 3;
const DIGITS: usize = 4;
const LIMBS: usize = ALPHA * DIGITS;

/// The key-switching program: raises the digits of d to Q·P (ModUp), takes their inner products with the two sets of
/// keys, and divides by P (ModDown). The output holds c0 and c1.
fn key_switch(engine: &Engine, q: &PolyType, qp: &PolyType) -> Result<Program> {
    let p = engine.pipeline("key switch");
    let keys = p.shared("keys", 2 * DIGITS * qp.bytes()).holding(qp.vector(2 * DIGITS)?);
    let digits = p.elements("d", q).raise(ALPHA, qp);
    p.output("c", digits.inner_product(keys, 2).divide_round(ALPHA));
    engine.compile(p)
}

/// Keys that switch from s' to s. For digit j, a_j is random and b_j = e − a_j·s + P·g_j·s'. The noise e is the same
/// for all digits, and g_j is 1 modulo the primes of that digit and 0 modulo the others. Order: all b_j, then all a_j.
fn make_keys<'p>(p: &'p Pipeline, qp: &PolyType) -> Result<Value<'p>> {
    let [s, other, noise] = ["s", "s'", "noise"].map(|name| p.coefficients(name, qp).forward());
    let a = p.elements("a", qp.vector(DIGITS)?);
    let product = qp.basis()[LIMBS..].iter().fold(U256::ONE, |product, q| product.wrapping_mul(&q.value()));
    let part = |j: usize, limb: usize| if limb / ALPHA == j { product } else { U256::ZERO };
    let of = |j: usize| a.limbs(j * qp.basis().len()..(j + 1) * qp.basis().len());
    let b = (0..DIGITS).map(|j| {
        let numbers: Vec<U256> = (0..qp.basis().len()).map(|limb| part(j, limb)).collect();
        noise - of(j) * s + other.scale(&numbers)
    });
    let parts: Vec<Value<'_>> = b.chain((0..DIGITS).map(of)).collect();
    Ok(p.join(qp.vector(2 * DIGITS)?, &parts))
}

fn main() -> Result<()> {
    let engine = Engine::best();
    println!("on {}", engine.device());
    let primes = Modulus::ntt_primes(2 * N as u64, 50, LIMBS + ALPHA)?;
    // types of elements modulo Q and modulo Q·P, in the NTT domain
    let values = |basis| PolyType::from(Ring::rns(N, basis)?).evaluations(Order::DigitReversed);
    let (q, qp) = (values(&primes[..LIMBS])?, values(&primes)?);

    let p = engine.pipeline("keys");
    p.output("keys", make_keys(&p, &qp)?);
    let make_keys = engine.compile(p)?;
    let switch = key_switch(&engine, &q, &qp)?;
    println!("{}", switch.plan());
    let p = engine.pipeline("what is left of c0 + c1 s - d s'");
    let (c, d) = (p.elements("c", q.vector(2)?), p.elements("d", &q));
    let [c0, c1] = [0..LIMBS, LIMBS..2 * LIMBS].map(|limbs| c.limbs(limbs));
    let [s, other] = ["s", "s'"].map(|name| p.coefficients(name, &qp).limbs(0..LIMBS).forward());
    p.output("noise", (c0 + c1 * s - d * other).inverse());
    let check = engine.compile(p)?;

    let mut state = 1u64;
    let mut random = move |bits: u32| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> (64 - bits)
    };
    let moduli: Vec<u64> = primes.iter().filter_map(Modulus::value_u64).collect();
    let mut small = |range: u64| {
        let numbers: Vec<u64> = (0..N).map(|_| random(40) % range).collect();
        moduli.iter().flat_map(|q| numbers.iter().map(move |x| (q + x - range / 2) % q)).collect::<Vec<u64>>()
    };
    let [s, other, noise] = [3, 3, 9].map(&mut small);
    // random 49-bit residues; all moduli have 50 bits
    let [a, d] =
        [DIGITS * (LIMBS + ALPHA), LIMBS].map(|limbs| (0..limbs * N).map(|_| random(49)).collect::<Vec<u64>>());

    let mut keys = vec![0u64; 2 * DIGITS * (LIMBS + ALPHA) * N];
    let call = make_keys.on_host(1).input("s", &s).input("s'", &other).input("noise", &noise).input("a", &a);
    call.output("keys", &mut keys).run()?;
    let [mut c, mut left] = [2, 1].map(|count| vec![0u64; count * LIMBS * N]);
    switch.on_host(1).input("d", &d).input("keys", &keys).output("c", &mut c).run()?;
    let call = check.on_host(1).input("c", &c).input("d", &d).input("s", &s).input("s'", &other);
    call.output("noise", &mut left).run()?;

    // every noise coefficient is one small integer, so its centred residues are equal in all limbs
    let centred = |x: u64, q: u64| if x > q / 2 { x as i64 - q as i64 } else { x as i64 };
    let most = (0..N).map(|i| {
        let noise = centred(left[i], moduli[0]);
        assert!((1..LIMBS).all(|limb| centred(left[limb * N + i], moduli[limb]) == noise));
        noise.unsigned_abs()
    });
    let bits = most.max().unwrap_or(0).ilog2();
    println!("the keys leave noise of {bits} bits of {}", 50 * LIMBS);
    assert!(bits < 40, "too much noise");
    Ok(())
}
