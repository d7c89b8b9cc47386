//! Products on the CPU compared with slow reference code.

use ringforge::factorization::Factorization;
use ringforge::{Device, Job, Limits, Op, Order, Plan, Planner, PolyType, Ring};
use ringforge_testkit::naive;
use ringforge_testkit::residues;

use crate::rings::{modulus, prime, rings};

fn run(plan: &Plan, batch: usize, ins: &[&[u8]], out: &mut [u8]) {
    let program = Device::cpu().compile(plan).unwrap_or_else(|e| panic!("{plan}: {e}"));
    let call =
        plan.args().iter().zip(ins).fold(program.on_host(batch), |call, (arg, bytes)| call.input(&arg.name, bytes));
    call.output(&plan.args()[ins.len()].name, out).run().unwrap_or_else(|e| panic!("{plan}: {e}"));
}

fn planned(job: &Job) -> Plan {
    Planner::default().plan(job).unwrap_or_else(|e| panic!("{job}: {e}"))
}

#[test]
fn products_equal_the_oracle() {
    for ring in rings() {
        for batch in [0, 1, 2, 3, 7] {
            let (a, b) = (residues(&ring, 4, batch), residues(&ring, 5, batch));
            let mut product = vec![0; a.len()];
            run(&planned(&Job::new(&ring, Op::Mul)), batch, &[&a, &b], &mut product);
            if batch == 7 || ring.degree() < 300 {
                let wanted = naive::mul(&ring, &naive::to_plain(&ring, &a), &naive::to_plain(&ring, &b));
                assert!(product == naive::to_stored(&ring, &wanted), "{ring} batch {batch}");
            }
        }
    }
}

#[test]
fn products_of_the_largest_residues_equal_the_oracle() {
    for ring in rings().into_iter().filter(|ring| ring.degree() <= 128) {
        let largest = ring.basis().iter().flat_map(|q| vec![q.neg(&q.reduce_i64(1)); ring.degree()]);
        let plain: Vec<_> = largest.collect();
        let a = naive::to_stored(&ring, &plain);
        let mut product = vec![0; a.len()];
        run(&planned(&Job::new(&ring, Op::Mul)), 1, &[&a, &a], &mut product);
        assert!(product == naive::to_stored(&ring, &naive::mul(&ring, &plain, &plain)), "{ring}");
    }
}

#[test]
fn products_of_values_equal_the_oracle() {
    for ring in rings() {
        let factorization = Factorization::of(&ring, None).expect("a factorization");
        for order in [Order::DigitReversed, Order::Natural] {
            let (a, b, c) = (residues(&ring, 6, 3), residues(&ring, 7, 3), residues(&ring, 8, 3));
            let [x, y, z] = [&a, &b, &c].map(|bytes| naive::to_plain(&ring, bytes));
            let wanted = naive::point_mul(&ring, &factorization, order, &x, &y);
            let mut product = vec![0; a.len()];
            run(&planned(&Job::new(&ring, Op::PointMul).order(order)), 3, &[&a, &b], &mut product);
            assert!(product == naive::to_stored(&ring, &wanted), "point_mul {ring} {order}");
            let mut sum = c.clone();
            run(&planned(&Job::new(&ring, Op::MulAdd).order(order)), 3, &[&a, &b], &mut sum);
            assert!(sum == naive::to_stored(&ring, &naive::add(&ring, &wanted, &z)), "mul_add {ring} {order}");
        }
    }
}

/// If a limb does not fit a thread block, a product takes three transforms of two kernels each. The first kernel of the
/// inverse transform includes the pointwise product. The results equal those of a single fused kernel.
#[test]
fn a_product_in_steps_equals_the_fused_one() {
    let ring = PolyType::from(Ring::negacyclic(1 << 16, prime(60, 1 << 17)).expect("a ring"));
    let job = Job::new(&ring, Op::Mul);
    let steps = Planner::new(Limits::h200()).plan(&job).expect("a plan");
    assert_eq!(steps.kernels().len(), 6, "{steps}");
    let (a, b) = (residues(&ring, 9, 1), residues(&ring, 10, 1));
    let (mut one, mut other) = (vec![0; a.len()], vec![0; a.len()]);
    run(&steps, 1, &[&a, &b], &mut one);
    run(&planned(&job), 1, &[&a, &b], &mut other);
    assert!(one == other);
}

#[test]
fn refusals_are_errors() {
    let ring = PolyType::from(Ring::negacyclic(256, modulus(3329)).expect("a ring"));
    let planner = Planner::default();
    for op in [Op::PointMul, Op::MulAdd, Op::Mul, Op::Compose] {
        assert!(planner.plan(&Job::new(&ring, op).in_place()).is_err(), "{op}");
    }
    assert!(planner.plan(&Job::new(&ring, Op::Forward).depth(9)).is_err());
    assert!(planner.plan(&Job::new(&ring, Op::Mul).depth(9)).is_err());
    let even = PolyType::from(Ring::negacyclic(256, modulus(1024)).expect("a ring"));
    assert!(planner.plan(&Job::new(&even, Op::Forward)).is_err());
    let mixed =
        PolyType::from(Ring::new(&[modulus(2), prime(30, 8)], ringforge::Quotient::Cyclic { n: 4 }).expect("a ring"));
    assert!(planner.plan(&Job::new(&mixed, Op::Forward)).is_err());
}
