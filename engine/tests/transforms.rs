//! Transforms on every device, compared with slow reference code.

use ringforge::factorization::{Factorization, MAX_LEAF_DEGREE};
use ringforge::{Device, Job, Modulus, Op, Order, Planner, PolyType, Quotient, Ring, U256};
use ringforge_testkit::naive;
use ringforge_testkit::{devices, residues};

use crate::rings::{self, modulus, prime, rings};

const ORDERS: [Order; 2] = [Order::DigitReversed, Order::Natural];

fn run(job: &Job, batch: usize, args: &[&[u8]]) -> Vec<u8> {
    let device = Device::cpu();
    let plan = Planner::new(device.limits().clone()).plan(job).unwrap_or_else(|e| panic!("{job}: {e}"));
    let program = device.compile(&plan).unwrap_or_else(|e| panic!("{plan}: {e}"));
    let stream = device.stream().expect("a stream");
    let mut ins: Vec<_> = args.iter().map(|arg| stream.upload(arg).expect("a buffer")).collect();
    let mut out = match job.in_place {
        true => ins.remove(0),
        false => device.buffer(batch * job.poly.bytes()).expect("a buffer"),
    };
    let call = plan.args().iter().zip(&ins).fold(program.on(&stream, batch), |call, (arg, x)| call.input(&arg.name, x));
    call.output(&plan.args()[ins.len()].name, &mut out).run().unwrap_or_else(|e| panic!("{plan}: {e}"));
    if batch == 0 { Vec::new() } else { stream.download(&out).expect("bytes") }
}

fn forward(ring: &PolyType, order: Order, a: &[u8]) -> Vec<u8> {
    run(&Job::new(ring, Op::Forward).order(order), a.len() / ring.bytes(), &[a])
}

/// The elements `a` with every word reduced modulo its limb's q.
fn reduced(ring: &PolyType, a: &[u8]) -> Vec<u8> {
    naive::to_stored(ring, &naive::to_plain(ring, a))
}

#[test]
fn forward_equals_the_oracle_and_inverse_undoes_it() {
    for ring in rings() {
        let factorization = Factorization::of(&ring, None).expect("a factorization");
        for (batch, order) in [0, 1, 2, 3, 7].into_iter().flat_map(|batch| ORDERS.map(|order| (batch, order))) {
            let a = residues(&ring, 1, batch);
            let values = forward(&ring, order, &a);
            let wanted =
                naive::to_stored(&ring, &naive::forward(&ring, &factorization, order, &naive::to_plain(&ring, &a)));
            assert!(values == wanted, "forward {ring} {order} batch {batch}");
            let job = Job::new(&ring, Op::Inverse).order(order);
            if ring.accepts_any_word() {
                let back = naive::to_plain(&ring, &run(&job, batch, &[&a]));
                let values = naive::forward(&ring, &factorization, order, &back);
                assert!(values == naive::to_plain(&ring, &a), "inverse of any words {ring} {order} batch {batch}");
            }
            let a = reduced(&ring, &a);
            assert!(run(&job, batch, &[&values]) == a, "inverse {ring} {order} batch {batch}");
            let in_place = Job::new(&ring, Op::Forward).order(order).in_place();
            assert!(run(&in_place, batch, &[&a]) == values, "forward in place {ring} {order}");
            assert!(run(&job.in_place(), batch, &[&values]) == a, "inverse in place {ring} {order}");
        }
    }
}

#[test]
fn every_depth_equals_the_oracle() {
    for ring in [
        Ring::cyclic(8, modulus(12289)).map(PolyType::from),
        Ring::trinomial(24, modulus(3457)).map(PolyType::from),
        Ring::cyclic(6, prime(62, 6)).map(PolyType::from),
    ] {
        let ring = ring.expect("a ring");
        let most = Factorization::of(&ring, None).expect("a factorization").depth();
        for depth in 0..=most {
            let Ok(factorization) = Factorization::of(&ring, Some(depth)) else { continue };
            // leaves of a higher degree support only digit-reversed order, and no products
            let multiply = factorization.leaf_degree() <= MAX_LEAF_DEGREE;
            for order in if multiply { &ORDERS[..] } else { &[Order::DigitReversed] } {
                let (order, a) = (*order, residues(&ring, 2, 3));
                let values = run(&Job::new(&ring, Op::Forward).order(order).depth(depth), 3, &[&a]);
                let wanted = naive::forward(&ring, &factorization, order, &naive::to_plain(&ring, &a));
                assert_eq!(values, naive::to_stored(&ring, &wanted), "{ring} depth {depth} {order}");
                assert_eq!(run(&Job::new(&ring, Op::Inverse).order(order).depth(depth), 3, &[&values]), a);
                if !multiply {
                    continue;
                }
                let product = run(&Job::new(&ring, Op::PointMul).order(order).depth(depth), 3, &[&values, &values]);
                let values = naive::to_plain(&ring, &values);
                let wanted = naive::point_mul(&ring, &factorization, order, &values, &values);
                assert_eq!(product, naive::to_stored(&ring, &wanted), "point_mul {ring} depth {depth} {order}");
            }
        }
    }
}

/// Transforms of sizes at which the work is cut into cache blocks, tasks and tiles. They are checked at a few
/// evaluations, and by the inverse transform.
#[test]
fn large_transforms_equal_the_oracle_at_sampled_leaves() {
    let bls = Modulus::from_hex(rings::BLS12_381_R).expect("a modulus");
    let rings = [
        Ring::cyclic(1 << 15, modulus(0xffff_ffff_0000_0001)).map(PolyType::from),
        Ring::negacyclic(1 << 16, prime(60, 1 << 17)).map(PolyType::from),
        Ring::negacyclic(1 << 16, prime(30, 1 << 17)).map(PolyType::from),
        Ring::cyclic(3 << 14, modulus(12289)).map(PolyType::from),
        Ring::cyclic(81 << 9, prime(31, 81 << 9)).map(PolyType::from),
        Ring::trinomial(3 << 15, prime(62, 9 << 15)).map(PolyType::from),
        Ring::rns(1 << 14, &[prime(60, 1 << 15), prime(59, 1 << 15), prime(58, 1 << 15)]).map(PolyType::from),
        Ring::new(&[prime(60, 1 << 15), prime(59, 1 << 15)], Quotient::Negacyclic { n: 1 << 14 })
            .and_then(|ring| PolyType::from(ring).with_limbs(&[1, 0, 1])),
        Ring::cyclic(1 << 15, bls).map(PolyType::from),
        Ring::cyclic(5 << 12, bls).map(PolyType::from),
    ];
    for ring in rings {
        let ring = ring.expect("a ring");
        let factorization = Factorization::of(&ring, None).expect("a factorization");
        let places = factorization.natural_places();
        let a = residues(&ring, 3, 1);
        let plain = naive::to_plain(&ring, &a);
        let any = forward(&ring, Order::DigitReversed, &a);
        let natural = forward(&ring, Order::Natural, &a);
        let (any_values, natural_values) = (naive::to_plain(&ring, &any), naive::to_plain(&ring, &natural));
        let (n, d) = (factorization.poly().degree(), factorization.leaf_degree());
        for row in 0..ring.basis().len() {
            for (leaf, &place) in places.iter().enumerate() {
                assert_eq!(any_values[row * n + leaf * d], natural_values[row * n + place * d]);
            }
            let q = &ring.basis()[row];
            for leaf in [0, 1, factorization.leaves() / 2, factorization.leaves() - 1] {
                let beta = factorization.leaf_constant(ring.limb_moduli()[row], leaf).expect("a leaf");
                let coefficients = plain[row * n..][..n].iter().step_by(d).rev();
                let value = coefficients.fold(U256::ZERO, |value, c| q.add(&q.mul(&value, &beta), c));
                assert_eq!(any_values[row * n + leaf * d], value, "{ring} leaf {leaf}");
            }
        }
        assert!(run(&Job::new(&ring, Op::Inverse), 1, &[&any]) == a, "{ring}");
        assert!(run(&Job::new(&ring, Op::Inverse).order(Order::Natural), 1, &[&natural]) == a, "{ring}");
    }
}

#[test]
fn an_impulse_has_equal_values() {
    let ring = PolyType::from(Ring::negacyclic(64, modulus(12289)).expect("a ring"));
    let mut impulse = vec![0u16; 64];
    impulse[0] = 5;
    assert_eq!(forward(&ring, Order::DigitReversed, bytes(&impulse)), bytes(&[5u16; 64]));
}

#[test]
fn natural_order_of_a_cyclic_ring_evaluates_at_the_powers_of_its_root() {
    let q = modulus(12289);
    let ring = PolyType::from(Ring::cyclic(16, q).expect("a ring"));
    let root = q.root(16).expect("a root");
    let mut x = vec![0u16; 16];
    x[1] = 1;
    let values = naive::to_plain(&ring, &forward(&ring, Order::Natural, bytes(&x)));
    let powers: Vec<U256> = (0..16u64).map(|i| q.pow(&root, &i.into())).collect();
    assert_eq!(values, powers);
}

/// A ring's root of unity determines the constants of its leaves and their order.
#[test]
fn root_55_leads_to_its_own_leaves() {
    let q = modulus(3457);
    let ring = Ring::trinomial(768, q).and_then(|ring| ring.with_root(55u32)).map(PolyType::from).expect("a ring");
    let depth_7 = Factorization::of(&ring, Some(7)).expect("a factorization");
    let exponents = [1u32, 193, 97, 289];
    for (leaf, exponent) in exponents.into_iter().enumerate() {
        assert_eq!(depth_7.leaf_constant(0, leaf), Some(q.pow(&55u32.into(), &exponent.into())), "leaf {leaf}");
    }
    let factorization = Factorization::of(&ring, None).expect("a factorization");
    assert_eq!(factorization.to_string(), "6,2^6, leaf degree 6");
}

fn bytes(words: &[u16]) -> &[u8] {
    bytemuck::cast_slice(words)
}

#[test]
fn timed_runs_report_each_step_and_give_the_same_result() {
    // the transform has two kernels on a GPU, and one on a CPU
    let q = Modulus::new(1_152_921_504_606_584_833u64).expect("a modulus");
    let ring = PolyType::from(Ring::negacyclic(1 << 14, q).expect("a ring"));
    for device in devices() {
        let plan = Planner::new(device.limits().clone()).plan(&Job::new(&ring, Op::Forward)).expect("a plan");
        let program = device.compile(&plan).expect("a program");
        let stream = device.stream().expect("a stream");
        let input = stream.upload(&residues(&ring, 1, 2)).expect("a buffer");
        let run = |timed: bool| {
            let mut out = device.buffer(2 * ring.bytes()).expect("a buffer");
            let call = program.on(&stream, 2).input("from", &input).output("to", &mut out);
            let seconds = if timed { call.run_timed() } else { call.run().map(|()| Vec::new()) };
            (seconds.expect("a run"), stream.download::<u8>(&out).expect("bytes"))
        };
        let ((seconds, timed), (_, plain)) = (run(true), run(false));
        assert!(timed == plain, "{device}");
        assert!(seconds.len() == plan.kernels().len() && seconds.iter().all(|&seconds| seconds > 0.0), "{device}");
        assert!(!device.limits().is_cpu() || device.held_bytes().is_none());
    }
}
