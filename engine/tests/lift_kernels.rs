//! The kernels that convert to and from the auxiliary ring of a product via a larger NTT, on arbitrary residues.

use std::sync::Arc;

use ringforge::kernels::{Compose, Kernel, LargerNtt, Role};
use ringforge::{Limits, Modulus, Planner, PolyType, Quotient, Ring, U256};
use ringforge_testkit::{NamedPlan, check_plan, devices, seed};

fn primes(bits: u32, count: usize) -> Vec<Modulus> {
    let below = (0..1u64 << 30).map(|i| Modulus::new((u64::MAX >> (64 - bits)) - i).unwrap());
    let mut primes: Vec<_> = below.filter(Modulus::is_prime).take(count).collect();
    primes.reverse();
    primes
}

fn check(kernels: Vec<Arc<dyn Kernel>>, [from, to]: [&PolyType; 2], limits: &Limits) {
    let about: Vec<String> = kernels.iter().map(|kernel| format!("{} {}", kernel.name(), kernel.describe())).collect();
    let p = Planner::new(limits.clone()).pipeline(about.join(", "));
    let mut value = p.coefficients("from", from);
    for kernel in kernels {
        // an in-out port keeps the limbs that earlier kernels have stored
        let stored = kernel.ports().last().is_some_and(|port| port.role == Role::InOut);
        let inputs = [value].into_iter().chain(stored.then(|| p.coefficients("to", to)));
        value = *p.dynamic_step(kernel, &inputs.collect::<Vec<_>>()).last().unwrap();
    }
    p.output("to", value.holding(to.coefficients()));
    check_plan(&NamedPlan::new(about.join(", "), p.build().unwrap()), &devices(), seed());
}

/// The emulator and the CPU agree on arbitrary residues, including those that products of bounded operands cannot
/// reach. Covers both sizes of primes, and reduction modulo f in shared memory and in device memory.
#[test]
fn emulator_and_cpu_agree() {
    let small = |moduli: &[u64]| moduli.iter().map(|&q| Modulus::new(q).unwrap()).collect::<Vec<_>>();
    let wide = |digits: &str| Modulus::from_hex(digits).unwrap();
    let high = Quotient::Sparse { n: 6, terms: vec![(4, 3), (0, -1)] };
    let units = Quotient::Sparse { n: 40, terms: vec![(39, 1), (38, -1), (0, -1)] };
    let (all_ones, power_of_two) = (wide(&"f".repeat(64)), wide(&format!("8{:0>63}", 0)));
    let rings = [
        (Quotient::Negacyclic { n: 5 }, 5, small(&[1024]), primes(62, 1)),
        (Quotient::PrimeTrinomial { p: 5 }, 12, small(&[u64::MAX, 4591]), primes(62, 3)),
        (high.clone(), 12, small(&[u64::MAX - 58, 2]), primes(62, 4)),
        (units.clone(), 80, small(&[3]), primes(30, 8)),
        (Quotient::Binomial { n: 5, c: U256::MAX.shr_vartime(3) }, 12, vec![all_ones], primes(62, 9)),
        (high, 12, vec![power_of_two, Modulus::new(3u32).unwrap()], primes(62, 9)),
        (units, 80, vec![wide("1000000000000000d")], primes(30, 5)),
    ];
    let shared = Limits::of_capability(90);
    let mut none = shared.clone();
    none.block_shared_bytes = 0;
    for (quotient, length, moduli, primes) in rings {
        let poly = PolyType::from(Ring::new(&moduli, quotient).unwrap());
        let auxiliary = PolyType::from(Ring::new(&primes, Quotient::Cyclic { n: length }).unwrap());
        for row in 0..moduli.len() {
            let lift = LargerNtt::new(&poly, row, &auxiliary);
            check(vec![lift.load()], [&poly, &auxiliary], &shared);
            let store = |limits| lift.store(limits).unwrap();
            check(store(&shared), [&auxiliary, &poly], &shared);
            // two kernels, if a reduction modulo f in device memory is needed
            if store(&none).len() == 2 {
                check(store(&none), [&auxiliary, &poly], &none);
            }
        }
    }
}

/// CRT composition of small integers, for which the estimated multiple of Q, the product of the moduli, is one too
/// small.
#[test]
fn emulator_and_cpu_agree_on_small_integers() {
    let poly = Ring::new(&primes(64, 5), Quotient::Cyclic { n: 4 }).unwrap();
    let compose = Compose::new(&poly.into()).unwrap();
    let p = Planner::default().pipeline("compose");
    let [integers] = p.step(compose, &[p.input("from")]);
    p.output("to", integers);
    let integers = |batch| (0..batch).flat_map(|item| (0..20u64).map(move |i| i % 4 + item as u64));
    let named = NamedPlan::new("small integers", p.build().unwrap())
        .sampled(move |_, batch| vec![("from", integers(batch).flat_map(u64::to_le_bytes).collect())]);
    check_plan(&named, &devices(), seed());
}
