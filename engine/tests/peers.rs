//! Evaluations and products equal those of other implementations (arkworks, tfhe-ntt, num-bigint).

use ark_bls12_381::Fr;
use ark_ff::{BigInt, Field, PrimeField};
use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use num_bigint::BigUint;
use ringforge::{Device, Error, Job, Modulus, Op, Order, Planner, PolyType, Quotient, Ring, U256};
use ringforge_testkit::{residues, seed};

use crate::support::{devices, prime};
use ringforge_testkit::run;

/// Field elements of arkworks from stored residues; both are in Montgomery form.
fn elements(bytes: &[u8]) -> Vec<Fr> {
    let element = |limbs: &[u64]| Fr::new_unchecked(BigInt(limbs.try_into().expect("four limbs")));
    words(bytes).chunks(4).map(element).collect()
}

fn stored(elements: &[Fr]) -> Vec<u8> {
    elements.iter().flat_map(|x| x.0.0).flat_map(u64::to_le_bytes).collect()
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    bytes.chunks(8).map(word).collect()
}

/// A plain residue from little-endian 64-bit limbs.
fn plain(limbs: &[u64]) -> U256 {
    let bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
    U256::from_le_slice(&bytes)
}

fn bls12_381() -> Modulus {
    Modulus::new(plain(&Fr::MODULUS.0)).expect("a modulus")
}

fn sizes() -> impl Iterator<Item = usize> {
    (0..=12).chain([16]).map(|log| 1 << log)
}

/// True if the device supports forward transforms in this ring.
fn holds(device: &Device, ring: &PolyType) -> bool {
    let plan = Planner::new(device.limits().clone()).plan(&Job::new(ring, Op::Forward));
    !matches!(plan.and_then(|plan| device.compile(&plan)), Err(Error::Unsupported { .. }))
}

/// Checks forward and inverse transforms in natural order against those of an arkworks domain, on every device that
/// supports the ring.
fn check_domain(ring: &PolyType, domain: &Radix2EvaluationDomain<Fr>) {
    let batch = if ring.degree() > 1 << 12 { 1 } else { 5 };
    let (a, n) = (residues(ring, seed(), batch), ring.degree());
    let items = |bytes: &[u8], f: &dyn Fn(&[Fr]) -> Vec<Fr>| -> Vec<u8> {
        elements(bytes).chunks(n).flat_map(|item| stored(&f(item))).collect()
    };
    let values = items(&a, &|item| domain.fft(item));
    let coefficients = items(&a, &|item| domain.ifft(item));
    for device in devices().into_iter().filter(|device| holds(device, ring)) {
        let ours = |op| run(&device, &Job::new(ring, op).order(Order::Natural), batch, &[&a]);
        assert!(ours(Op::Forward) == values, "forward {ring} on {device}");
        assert!(ours(Op::Inverse) == coefficients, "inverse {ring} on {device}");
    }
}

#[test]
fn cyclic_transforms_equal_those_of_arkworks_bit_for_bit() {
    for n in sizes() {
        let domain = Radix2EvaluationDomain::<Fr>::new(n).expect("a domain");
        let root = plain(&domain.group_gen().into_bigint().0);
        let ring =
            Ring::cyclic(n, bls12_381()).and_then(|ring| ring.with_root(root)).map(PolyType::from).expect("a ring");
        check_domain(&ring, &domain);
    }
}

/// A coset ring names only the offset. Its evaluations use the modulus's default root of unity, so the test sets the
/// arkworks domain to the same root.
#[test]
fn coset_transforms_equal_those_of_arkworks_bit_for_bit() {
    let (q, offset) = (bls12_381(), Fr::from(7u64));
    for n in sizes() {
        let domain = Radix2EvaluationDomain::<Fr>::new_coset(n, offset).expect("a domain");
        let root = q.to_montgomery(&q.root(n as u64).expect("a root")).to_le_bytes();
        let group_gen = elements(root.as_ref())[0];
        let group_gen_inv = group_gen.inverse().expect("an inverse");
        let c = plain(&offset.pow([n as u64]).into_bigint().0);
        let ring =
            Ring::new(&[q], Quotient::Binomial { n, c }).and_then(|ring| ring.with_root(7u32)).map(PolyType::from);
        check_domain(&ring.expect("a ring"), &Radix2EvaluationDomain { group_gen, group_gen_inv, ..domain });
    }
}

/// tfhe-ntt leaves evaluations in bit-reversed order, so the first evaluation of the polynomial x is the root of unity
/// that tfhe-ntt uses.
#[test]
fn negacyclic_transforms_and_products_equal_those_of_tfhe_ntt() {
    let small = [(60, 16), (60, 1 << 10), (61, 1 << 11), (62, 1 << 12), (63, 64), (64, 256), (50, 128)];
    let large = [(50, 1 << 13), (60, 1 << 16), (61, 1 << 15), (62, 1 << 14)];
    for (bits, n) in small.into_iter().chain(large) {
        let q = prime(bits, 2 * n as u64).expect("a prime");
        let peer = tfhe_ntt::prime64::Plan::try_new(n, q.value_u64().expect("64 bits")).expect("a plan");
        let mut x = vec![0; n];
        x[1] = 1;
        peer.fwd(&mut x);
        let ring = Ring::negacyclic(n, q).and_then(|ring| ring.with_root(x[0])).map(PolyType::from).expect("a ring");
        let (a, b) = (residues(&ring, seed(), 5), residues(&ring, seed() + 1, 5));
        let (mut values, mut products) = (Vec::new(), Vec::new());
        for (a, b) in words(&a).chunks(n).zip(words(&b).chunks(n)) {
            let (mut a, mut b) = (a.to_vec(), b.to_vec());
            peer.fwd(&mut a);
            peer.fwd(&mut b);
            values.extend_from_slice(&a);
            peer.mul_assign_normalize(&mut a, &b);
            peer.inv(&mut a);
            products.extend(a);
        }
        for device in devices().into_iter().filter(|device| holds(device, &ring)) {
            let forward = Job::new(&ring, Op::Forward).order(Order::DigitReversed);
            assert!(words(&run(&device, &forward, 5, &[&a])) == values, "forward {ring} on {device}");
            assert!(
                words(&run(&device, &Job::new(&ring, Op::Mul), 5, &[&a, &b])) == products,
                "mul {ring} on {device}"
            );
        }
    }
}

/// Checks products modulo f with big integers, for which residues are converted from and to their stored form.
fn check_big(ring: &PolyType, device: &Device) {
    let (n, width) = (ring.degree(), ring.width().bytes());
    let q = BigUint::from_bytes_le(ring.basis()[0].value().to_le_bytes().as_ref());
    let r: BigUint = BigUint::from(1u32) << 256;
    let r_inverse = r.modinv(&q).expect("an odd modulus");
    let (a, b) = (residues(ring, seed(), 3), residues(ring, seed() + 1, 3));
    let plain = |bytes: &[u8]| -> Vec<BigUint> {
        bytes.chunks(width).map(|bytes| BigUint::from_bytes_le(bytes) * &r_inverse % &q).collect()
    };
    let mut wanted = Vec::new();
    for (a, b) in plain(&a).chunks(n).zip(plain(&b).chunks(n)) {
        let mut product = vec![BigUint::ZERO; 2 * n];
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().enumerate() {
                product[i + j] += a * b;
            }
        }
        for k in (n..2 * n).rev() {
            let top = &product[k] % &q;
            let minus = &q - &top;
            match ring.ring().quotient() {
                Quotient::Cyclic { .. } => product[k - n] += top,
                Quotient::Negacyclic { .. } => product[k - n] += minus,
                Quotient::Trinomial { .. } => {
                    product[k - n / 2] += top;
                    product[k - n] += minus;
                }
                other => panic!("{other} is not checked here"),
            }
        }
        for coefficient in &product[..n] {
            let mut bytes = (coefficient * &r % &q).to_bytes_le();
            bytes.resize(width, 0);
            wanted.extend(bytes);
        }
    }
    assert!(run(device, &Job::new(ring, Op::Mul), 3, &[&a, &b]) == wanted, "{ring} on {device}");
}

#[test]
fn products_modulo_large_primes_equal_those_of_big_integers() {
    for device in devices() {
        for bits in [65, 128, 200, 256] {
            let modulus = |order| prime(bits, order).expect("a prime");
            for ring in [
                Ring::cyclic(64, modulus(64)).map(PolyType::from),
                Ring::negacyclic(64, modulus(128)).map(PolyType::from),
                Ring::cyclic(54, modulus(54)).map(PolyType::from),
                Ring::negacyclic(80, modulus(32)).map(PolyType::from), // leaf degree 5
                Ring::trinomial(96, modulus(288)).map(PolyType::from),
            ] {
                check_big(&ring.expect("a ring"), &device);
            }
        }
    }
}
