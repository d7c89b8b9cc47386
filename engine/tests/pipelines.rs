//! Pipelines: placement of values in memory, in-place steps, plans within plans, and correct results in all cases.

use core::ops::Range;

use ringforge::factorization::Factorization;
use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Role, Source};
use ringforge::{Engine, Job, Limits, Op, Order, Pipeline, Plan, Planner, PolyType, Result, Value};
use ringforge_testkit::naive;
use ringforge_testkit::{devices, residues};

/// The number of items in each run.
const BATCH: usize = 70;

/// A kernel that computes 3a + b + 1 for each word, repeating the inputs if the output is longer. With `onto`, it adds
/// the result to the old contents of the output.
#[derive(Debug, Clone, Copy)]
struct Add {
    from: usize,
    to: usize,
    onto: bool,
    in_place: bool,
    ports: [Port; 3],
}

const fn add(from: usize, to: usize) -> Add {
    let ports = [Port::input(4 * from), Port::input(4 * from), Port::output(4 * to)];
    Add { from, to, onto: false, in_place: false, ports }
}

const ADD: Add = add(4, 4);
const ADD_IN_PLACE: Add = Add { in_place: true, ..ADD };
const ADD_ONTO: Add = Add { onto: true, ports: [ADD.ports[0], ADD.ports[1], Port::in_out(BYTES)], ..ADD };
/// Bytes of an item that `ADD` and its variants read and write.
const BYTES: usize = 16;

const SOURCE: &str = "#include \"word.cuh\"\n#include \"prelude.cuh\"\nusing namespace rf;\n\
    extern \"C\" __global__ void add(const u32* a, const u32* b, u32* out, u64 first, u64 end) {\n\
        const u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;\n\
        if (item >= end) return;\n\
        for (u32 i = 0; i < TO; i++) {\n\
            const u64 from = FROM * item + i % FROM;\n\
            out[TO * item + i] = 3 * a[from] + b[from] + 1 + (ONTO ? out[TO * item + i] : 0);\n\
        }\n\
    }\n";

impl Kernel for Add {
    fn name(&self) -> &'static str {
        "add"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let Self { from, to, onto, .. } = *self;
        let prelude = format!("#define FROM {from}\n#define TO {to}\n#define ONTO {}\n", u8::from(onto));
        let built = Built { prelude, launch: Launch::thread_per_item(32) };
        // SAFETY: a thread accesses only its own item.
        Ok(unsafe { Source::new(self, SOURCE, &[], built) })
    }

    fn in_place(&self, _: usize, _: usize) -> bool {
        self.in_place
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        args.each(items, |_, (a, b, out): (&[u32], &[u32], &mut [u32])| {
            let sums = a.iter().zip(b).map(|(a, b)| sum(*a, *b)).cycle();
            out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum.wrapping_add(if self.onto { *out } else { 0 }));
            Ok(())
        })
    }
}

fn sum(a: u32, b: u32) -> u32 {
    a.wrapping_mul(3).wrapping_add(b).wrapping_add(1)
}

fn apply<'p>(p: &'p Pipeline, kernel: Add, a: Value<'p>, b: Value<'p>) -> Value<'p> {
    let [value] = p.step(kernel, &[a, b]);
    value
}

/// A chain of steps, in which each step takes the result of the previous step for both inputs.
fn chain<'p>(p: &'p Pipeline, kernels: &[Add], x: Value<'p>) -> Value<'p> {
    kernels.iter().fold(x, |x, kernel| apply(p, *kernel, x, x))
}

/// The word that a chain of this many steps computes from the word x.
fn chained(steps: usize, x: u32) -> u32 {
    (0..steps).fold(x, |x, _| sum(x, x))
}

/// The plan of a pipeline for devices with these limits.
fn plan(limits: Limits, make: impl FnOnce(&Pipeline)) -> Plan {
    let p = Planner::new(limits).pipeline("plan");
    make(&p);
    p.build().unwrap_or_else(|e| panic!("{e}"))
}

/// The plan for a CPU, where optional in-place steps are not used, and that for a GPU, where they are.
fn both(make: impl Fn(&Pipeline)) -> [Plan; 2] {
    [Limits::cpu(), Limits::h200()].map(|limits| plan(limits, &make))
}

/// Runs a plan on every device. Each item of every argument starts as four copies of one word, and must end as
/// `expected` computes from this word.
fn check(plan: &Plan, expected: &[(&str, &dyn Fn(u32) -> u32)]) {
    let words: Vec<u32> = (0..BATCH as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let of_items = |f: &dyn Fn(u32) -> u32| words.iter().flat_map(|&x| [f(x); 4]).collect::<Vec<_>>();
    assert_eq!(
        plan.args().iter().map(|arg| &*arg.name).collect::<Vec<_>>(),
        expected.iter().map(|(name, _)| *name).collect::<Vec<_>>()
    );
    for device in devices() {
        let program = device.compile(plan).unwrap_or_else(|e| panic!("{plan}: {e}"));
        let mut memory: Vec<_> = plan.args().iter().map(|_| of_items(&|x| x)).collect();
        let args = plan.args().iter().zip(&mut memory);
        let call = args.fold(program.on_host(BATCH), |call, (arg, memory)| match arg.role {
            Role::In => call.input(&arg.name, memory),
            Role::Out | Role::InOut => call.output(&arg.name, memory),
        });
        call.run().unwrap_or_else(|e| panic!("{plan}: {e}"));
        for ((name, f), found) in expected.iter().zip(&memory) {
            assert!(*found == of_items(f), "{name} of {plan} on {device}");
        }
    }
}

#[test]
fn a_chain_takes_two_temporaries() {
    for steps in 1..8 {
        for plan in both(|p| p.output("y", chain(p, &vec![ADD; steps], p.input("x")))) {
            assert_eq!(plan.temporary_bytes(1), (steps - 1).min(2) * BYTES, "{plan}");
            check(&plan, &[("x", &|x| x), ("y", &|x| chained(steps, x))]);
        }
    }
}

#[test]
fn a_temporary_holds_the_largest_of_its_values() {
    let sizes = |words: &[usize]| {
        let kernels: Vec<Add> = words.windows(2).map(|pair| add(pair[0], pair[1])).collect();
        let [plan, for_gpu] = both(|p| p.output("y", chain(p, &kernels, p.input("x"))));
        assert_eq!(plan.to_string(), for_gpu.to_string());
        check(&plan, &[("x", &|x| x), ("y", &|x| chained(words.len() - 1, x))]);
        plan.temporary_bytes(1) / 4
    };
    assert_eq!(sizes(&[4, 1, 16, 1, 16, 4]), 17);
    // the third value reuses the memory of the first, which is enlarged
    assert_eq!(sizes(&[4, 1, 1, 16, 4]), 17);
}

/// Values that are needed at the same time do not overlap, and values that are never read still have memory.
#[test]
fn values_needed_later_are_preserved() {
    for kernel in [ADD, ADD_IN_PLACE] {
        let plans = both(|p| {
            let x = p.input("x");
            let first = apply(p, kernel, x, x);
            let second = apply(p, kernel, first, first);
            apply(p, kernel, second, second);
            let third = apply(p, kernel, first, second);
            let fourth = apply(p, kernel, second, first);
            p.output("third", third);
            p.output("sum", apply(p, kernel, third, fourth));
        });
        let [first, second] = [1, 2].map(|steps| move |x| chained(steps, x));
        let third = |x| sum(first(x), second(x));
        for plan in plans {
            check(&plan, &[("x", &|x| x), ("third", &third), ("sum", &|x| sum(third(x), sum(second(x), first(x))))]);
        }
    }
}

/// On a GPU, kernels run in place if they can. So a chain of such kernels that ends in an output works in the output's
/// memory.
#[test]
fn chains_run_in_place() {
    for steps in 1..8 {
        let [plan, for_gpu] = both(|p| p.output("y", chain(p, &vec![ADD_IN_PLACE; steps], p.input("x"))));
        assert_eq!(plan.temporary_bytes(1), (steps - 1).min(2) * BYTES, "{plan}");
        assert_eq!(for_gpu.temporary_bytes(1), 0, "{for_gpu}");
        for plan in [plan, for_gpu] {
            // the input keeps its contents
            check(&plan, &[("x", &|x| x), ("y", &|x| chained(steps, x))]);
        }

        let [plan, for_gpu] = both(|p| p.output("data", chain(p, &vec![ADD_IN_PLACE; steps], p.input("data"))));
        assert_eq!(for_gpu.temporary_bytes(1), 0, "{for_gpu}");
        for plan in [plan, for_gpu] {
            assert_eq!(plan.args()[0].role, Role::InOut);
            check(&plan, &[("data", &|x| chained(steps, x))]);
        }
    }
    // two steps that cannot run in place: the last may still overwrite the memory that the first one read
    for plan in both(|p| p.output("data", chain(p, &[ADD, ADD], p.input("data")))) {
        assert_eq!(plan.temporary_bytes(1), BYTES, "{plan}");
        check(&plan, &[("data", &|x| chained(2, x))]);
    }
}

/// An in-out port updates a value in place.
#[test]
fn in_out_ports_update_values_in_place() {
    for plan in both(|p| {
        let (x, data) = (p.input("x"), p.input("data"));
        let [data] = p.step(ADD_ONTO, &[x, x, data]);
        let [data] = p.step(ADD_ONTO, &[x, x, data]);
        let [other] = p.step(ADD_ONTO, &[data, x, apply(p, ADD, x, data)]);
        p.output("data", data);
        p.output("other", other);
    }) {
        assert_eq!((plan.temporary_bytes(1), plan.args()[1].role), (0, Role::InOut), "{plan}");
        let data = |x: u32| x.wrapping_add(sum(x, x)).wrapping_add(sum(x, x));
        let other = |x| sum(data(x), x).wrapping_add(sum(x, data(x)));
        check(&plan, &[("x", &|x| x), ("data", &data), ("other", &other)]);
    }
}

/// Plans within a pipeline are connected by values, so their argument names do not matter. Their temporaries are reused
/// like other temporaries.
#[test]
fn plans_are_joined() {
    for limits in [Limits::cpu(), Limits::h200()] {
        for kernel in [ADD, ADD_IN_PLACE] {
            let part = plan(limits.clone(), |p| {
                let (b, a) = (p.input("second"), p.input("first"));
                p.output("double", apply(p, kernel, a, a));
                p.output("x", chain(p, &[ADD; 3], apply(p, kernel, a, b)));
            });
            let whole = plan(limits.clone(), |p| {
                let x = p.input("x");
                let [double, y] = p.plan(&part, &[x, x]);
                let [again, z] = p.plan(&part, &[double, y]);
                p.output("again", again);
                p.output("z", z);
            });
            assert!(whole.temporary_bytes(1) <= 4 * BYTES, "{whole}");
            assert_eq!(whole.kernels().len(), 2 * part.kernels().len());
            let of_part = |b, a| [sum(a, a), chained(3, sum(a, b))];
            let of_whole = |x| {
                let [double, y] = of_part(x, x);
                of_part(double, y)
            };
            check(&whole, &[("x", &|x| x), ("again", &|x| of_whole(x)[0]), ("z", &|x| of_whole(x)[1])]);

            // in place: the plan overwrites the value passed in, and returns the new value
            let part = plan(limits.clone(), |p| p.output("data", chain(p, &[ADD, kernel], p.input("data"))));
            let whole = plan(limits.clone(), |p| {
                let first = apply(p, kernel, p.input("x"), p.input("x of another name"));
                let [second] = p.plan(&part, &[first]);
                p.output("y", second);
            });
            check(&whole, &[("x", &|x| x), ("x of another name", &|x| x), ("y", &|x| chained(3, x))]);
        }
    }
}

/// Jobs and operators on ring elements become plans of the planner within the pipeline, and give the results of slow
/// reference code.
#[test]
fn operators_on_ring_elements_equal_the_oracle() -> Result<()> {
    let ring: PolyType = "3329:x^256+1".parse()?;
    let (factorization, natural) = (Factorization::of(&ring, None)?, Order::Natural);
    let values = ring.evaluations_after(factorization.depth(), natural);
    let coefficients = ring.coefficients();
    let [a, b, c] = [1, 2, 3].map(|seed| naive::to_plain(&ring, &residues(&ring, seed, 3)));
    let of_values = |x: &[_]| naive::forward(&ring, &factorization, natural, x);
    let product = naive::mul(&ring, &a, &b);
    let squares = of_values(&naive::mul(&ring, &a, &a));
    let sum = naive::add(&ring, &product, &naive::mul(&ring, &c, &c));
    for device in devices() {
        let engine = Engine::on(device);
        let p = engine.pipeline("products");
        let [x, y] = ["a", "b"].map(|name| p.coefficients(name, &ring));
        let z = p.evaluations("c", &ring, natural);
        p.output("product", x * y);
        let [x, y] = [x, y].map(|x| x.forward_to(natural));
        p.output("squares", x * x);
        let square = p.job(&Job::new(&ring, Op::PointMul).order(natural), &[z, z]);
        p.output("sum", x.mul_add(y, square).inverse());
        let program = engine.compile(p)?;

        let contents = |name| program.plan().arg(name).map(|arg| (arg.before.as_ref(), arg.after.as_ref()));
        assert_eq!(["a", "c"].map(contents), [&coefficients, &values].map(|content| Some((Some(content), None))));
        let outputs =
            [("product", &coefficients, &product), ("squares", &values, &squares), ("sum", &coefficients, &sum)];
        let inputs = [&a, &b, &of_values(&c)].map(|x| naive::to_stored(&ring, x));
        let mut found = outputs.map(|_| vec![0u8; 3 * ring.bytes()]);
        let call = ["a", "b", "c"].iter().zip(&inputs).fold(program.on_host(3), |call, (name, x)| call.input(name, x));
        let all = outputs.iter().zip(&mut found);
        all.fold(call, |call, ((name, ..), found)| call.output(name, found)).run()?;
        for ((name, content, expected), found) in outputs.iter().zip(&found) {
            assert_eq!(contents(name), Some((None, Some(*content))));
            assert!(*found == naive::to_stored(&ring, expected), "{name} on {}: {}", engine.device(), program.plan());
        }
    }
    Ok(())
}

/// Statuses must be 0 from the start of a run, so they share memory with no other value.
#[test]
fn statuses_share_no_memory() {
    let statuses = Add { ports: [Port::input(4), Port::input(4), Port::status()], ..add(1, 1) };
    let temporaries = |first: Add| {
        let plans = both(|p| p.output("y", chain(p, &[first, add(1, 1), add(1, 1), add(1, 1)], p.input("x"))));
        plans.map(|plan| plan.temporary_bytes(1) / 4)
    };
    assert_eq!((temporaries(add(1, 1)), temporaries(statuses)), ([2; 2], [3; 2]));
    let in_place = |kernel: Add| Add { in_place: true, ..kernel };
    let temporaries = |last: Add| {
        both(|p| p.output("y", chain(p, &[in_place(add(1, 1)), in_place(last)], p.input("x"))))
            .map(|plan| plan.temporary_bytes(1) / 4)
    };
    assert_eq!((temporaries(add(1, 1)), temporaries(statuses)), ([1, 0], [1; 2]));
}

/// A value that one step declares secret is secret wherever it is read. Memory of public values is not reused for
/// secrets.
#[test]
fn secrets_share_memory_only_with_secrets() {
    let secret = |in_port: bool, out_port: bool| {
        let [mut input, other, mut output] = ADD_IN_PLACE.ports;
        (input.secret, output.secret) = (in_port, out_port);
        Add { ports: [input, other, output], ..ADD_IN_PLACE }
    };
    let [plan, for_gpu] = both(|p| {
        let x = p.input("x");
        p.output("open", chain(p, &[secret(false, true), secret(true, false)], x));
        p.output("secret", chain(p, &[secret(false, true), secret(true, true)], x));
        p.output("y", apply(p, secret(true, false), p.input("key"), x));
    });
    assert_eq!((plan.temporary_bytes(1), for_gpu.temporary_bytes(1)), (BYTES, BYTES), "{for_gpu}");
    for plan in [plan, for_gpu] {
        let secrets = ["x", "key", "open", "secret", "y"].map(|name| plan.arg(name).map(|arg| arg.secret));
        assert_eq!(secrets, [false, true, false, true, false].map(Some), "{plan}");
    }
}
