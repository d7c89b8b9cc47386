//! Views: limbs of elements and byte ranges of items, for kernels that support views and for kernels that do not. Also
//! tests shared values, and batches that are cut to a memory budget.

use core::ops::Range;
use std::sync::Arc;

use ringforge::factorization::Factorization;
use ringforge::kernels::{Args, Built, Distribution, Kernel, Launch, Port, Source};
use ringforge::{Device, Engine, Error, Job, Limits, Modulus, Op, Order, Plan, Planner, PolyType, Result, Ring};
use ringforge_testkit::naive;
use ringforge_testkit::{NamedPlan, Target, check_plan, devices, residues, seed};

/// A ring with 60-bit primes among 50-bit primes.
fn mixed(n: usize) -> Result<PolyType> {
    let primes = |bits, count| Modulus::ntt_primes(2 * n as u64, bits, count);
    let small = primes(50, 3)?;
    Ring::rns(n, &[&small[..2], &primes(60, 2)?, &small[2..]].concat()).map(PolyType::from)
}

/// On a GPU, each limb uses the fastest arithmetic for its modulus. Results are bit-identical to those of a single
/// arithmetic for the whole basis, as on a CPU.
#[test]
fn limbs_use_their_fastest_arithmetic() -> Result<()> {
    let ring = mixed(64)?;
    for op in [Op::Forward, Op::Inverse, Op::Mul] {
        for job in [Job::new(&ring, op), Job::new(&ring, op).order(Order::Natural)] {
            let [whole, parts] = [Limits::cpu(), Limits::h200()].map(|limits| Planner::new(limits).plan(&job));
            let (whole, parts) = (whole?, parts?);
            assert_eq!((whole.kernels().len(), parts.kernels().len()), (1, 3), "{parts}");
            assert!(parts.kernels().all(|kernel| kernel.name() != "copy"), "{parts}");
        }
    }
    // there is one compiled kernel for each arithmetic, which serves all its limbs
    let plan = Planner::new(Limits::h200()).plan(&Job::new(&ring, Op::Forward))?;
    let texts = plan.kernels().map(|kernel| kernel.source(&Limits::h200()).map(|source| source.prelude().to_owned()));
    let texts = texts.collect::<Result<Vec<_>>>()?;
    assert!(texts[0] == texts[2] && texts[0] != texts[1]);
    Ok(())
}

#[test]
fn limbs_agree_on_all_devices() -> Result<()> {
    for n in [16, 64, 1 << 13] {
        let ring = mixed(n)?;
        for op in [Op::Forward, Op::Inverse, Op::Mul, Op::PointMul] {
            for order in [Order::DigitReversed, Order::Natural] {
                let job = Job::new(&ring, op).order(order);
                let jobs = [job.clone(), job.in_place()];
                for job in &jobs[..if matches!(op, Op::Forward | Op::Inverse) { 2 } else { 1 }] {
                    for device in
                        devices().into_iter().filter(|device| n < 1 << 13 || !device.to_string().contains("emulator"))
                    {
                        let plan = NamedPlan::of_job(job, device.limits())?;
                        check_plan(&plan, &[Device::cpu(), device], seed());
                    }
                }
            }
        }
    }
    Ok(())
}

/// Products of views: elements x are modulo Q·P, and a key that they share is modulo Q. In place, the limbs of Q become
/// x + key·x; in a separate output y, they are key·x. The limbs of P are those of x in both cases.
#[test]
fn keys_are_shared_and_limbs_are_updated() -> Result<()> {
    let ring: PolyType = "1152921504606830593,1152921504606748673,1152921504606683137:x^32+1".parse()?;
    let q = ring.limbs(0..2)?;
    let factorization = Factorization::of(&ring, None)?;
    let values = |ring: &PolyType| ring.evaluations_after(factorization.depth(), Order::DigitReversed);
    let batch = 5;
    let (x, key) = (residues(&ring, 1, batch), residues(&q, 2, 1));
    let (limbs, bytes) = (0..q.bytes(), ring.bytes());
    let mut wanted = x.clone();
    let plain = |bytes: &[u8]| naive::to_plain(&q, bytes);
    for item in wanted.chunks_exact_mut(bytes) {
        let product = naive::point_mul(
            &q,
            &Factorization::of(&q, None)?,
            Order::DigitReversed,
            &plain(&item[limbs.clone()]),
            &plain(&key),
        );
        let sum = naive::add(&q, &product, &plain(&item[limbs.clone()]));
        item[limbs.clone()].copy_from_slice(&naive::to_stored(&q, &sum));
    }
    for device in devices() {
        let engine = Engine::on(device);
        for same_name in [true, false] {
            let p = engine.pipeline("update");
            let x_in = p.elements("x", values(&ring));
            let key_in = p.shared("key", q.bytes()).holding(values(&q));
            let (old, rest) = (x_in.limbs(0..2), x_in.limbs(2..3));
            let output = match same_name {
                // updates the limbs in place
                true => key_in.mul_add(p.elements("again", values(&q)), old),
                false => key_in * old,
            };
            let output = p.join(values(&ring), &[output, rest]);
            p.output(if same_name { "x" } else { "y" }, output);
            let program = engine.compile(p)?;
            let stored: Vec<u8> = x.chunks_exact(bytes).flat_map(|item| item[limbs.clone()].to_vec()).collect();
            let mut found = x.clone();
            let call = program.on_host(batch).input("key", &key);
            if same_name {
                call.input("again", &stored).output("x", &mut found).run()?;
                assert!(found == wanted, "{} on {}", program.plan(), engine.device());
                assert_eq!(program.plan().kernels().len(), 1, "{}", program.plan());
            } else {
                call.input("x", &x).output("y", &mut found).run()?;
                let rest = |all: &[u8]| {
                    all.chunks_exact(bytes).flat_map(|item| item[q.bytes()..].to_vec()).collect::<Vec<_>>()
                };
                assert!(rest(&found) == rest(&x), "{} on {}", program.plan(), engine.device());
                // the product is written directly to its limbs of the output, and the other limbs are copied
                let names: Vec<_> = program.plan().kernels().map(|kernel| kernel.name()).collect();
                assert_eq!(names, ["point_mul", "copy"], "{}", program.plan());
            }
        }
    }
    Ok(())
}

/// A kernel that adds one to a byte. If `takes_views`, it declares that it supports views, wrongly if not `honest`.
#[derive(Debug, Clone, Copy)]
struct AddOne {
    ports: [Port; 2],
    takes_views: bool,
    honest: bool,
}

impl AddOne {
    const fn new(takes_views: bool, honest: bool) -> Self {
        Self { ports: [Port::input(1), Port::output(1)], takes_views, honest }
    }
}

const SOURCE: &str = "#include \"word.cuh\"\n#include \"prelude.cuh\"\nusing namespace rf;\n\
    extern \"C\" __global__ void add_one(const u8* in, u8* out, u64 of_in, u64 of_out, u64 first, u64 end) {\n\
        const u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;\n\
        if (item < end) out[item * of_out] = in[item * of_in] + 1;\n\
    }\n";

impl Kernel for AddOne {
    fn name(&self) -> &'static str {
        "add_one"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let strides = self.ports.map(|port| if self.honest { port.stride() as u64 } else { 1 });
        let built = Built { prelude: String::new(), launch: Launch::thread_per_item(32) };
        // SAFETY: a thread accesses the byte of its item. Kernels that are not `honest` access other bytes, but run on
        // the emulator only.
        Ok(unsafe { Source::new(self, SOURCE, &[], built).with_numbers(strides.to_vec()) })
    }

    fn on_views(&self, _: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = *self;
        kernel.ports.iter_mut().zip(strides).for_each(|(port, stride)| port.stride = Some(*stride));
        self.takes_views.then(|| Arc::new(kernel) as _)
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        args.each(items, |_, (from, to): (&u8, &mut u8)| {
            *to = from + 1;
            Ok(())
        })
    }
}

/// A plan that outputs the second of three bytes, plus one.
fn second(limits: &Limits, kernel: AddOne) -> Result<Plan> {
    let p = Planner::new(limits.clone()).pipeline("second");
    let [sum] = p.step(kernel, &[p.bytes("bytes", 3).part(1..2)]);
    p.output("sum", sum);
    p.build()
}

#[test]
fn kernels_that_take_no_views_are_given_copies() -> Result<()> {
    let bytes: Vec<u8> = (0..210).collect();
    for device in devices() {
        for takes_views in [false, true] {
            let plan = second(device.limits(), AddOne::new(takes_views, true))?;
            let shown = "second\n  copy         bytes[1..2] -> temp0\n  add_one      temp0 -> sum";
            let viewed = "second\n  add_one      bytes[1..2] -> sum";
            assert_eq!(plan.to_string(), if takes_views { viewed } else { shown });
            let mut sums = [0u8; 70];
            device.compile(&plan)?.on_host(70).input("bytes", &bytes).output("sum", &mut sums).run()?;
            assert!(sums.iter().zip(0..).all(|(sum, i)| *sum == 3 * i + 2), "{sums:?} on {device}");
        }
    }
    Ok(())
}

/// If a step declares the copy of a view secret, the original and its other copies are secret, too.
#[test]
fn copies_of_secrets_are_secret() -> Result<()> {
    let p = Planner::default().pipeline("secrets");
    let bytes = p.bytes("bytes", 3);
    let [sum] = p.step(AddOne::new(false, true), &[bytes.part(1..2)]);
    let mut secret = AddOne::new(false, true);
    secret.ports[0].secret = true;
    let [again] = p.step(secret, &[bytes.part(1..2)]);
    p.output("sum", sum);
    p.output("again", again);
    p.output("copy", bytes.part(0..1));
    let plan = p.build()?;
    let secrets = ["bytes", "sum", "again", "copy"].map(|name| plan.arg(name).map(|arg| arg.secret));
    assert_eq!(secrets, [true, false, false, true].map(Some), "{plan}");
    Ok(())
}

/// A view is secret if any reader declares it secret. Tested for every kind of argument, for declarations by a port and
/// on a value, before and after another step reads the view.
#[test]
fn views_of_secrets_are_secret() -> Result<()> {
    for (takes_views, by_port, first) in (0..8).map(|i| (i & 1 == 1, i & 2 == 2, i & 4 == 4)) {
        let p = Planner::default().pipeline("secrets");
        let keys = p.bytes("secret keys", 192);
        let part = keys.part(32..160).part(32..96);
        let kernel = |is_secret| {
            let mut kernel = AddOne { ports: [Port::input(64), Port::output(1)], ..AddOne::new(takes_views, true) };
            kernel.ports[0].secret = is_secret;
            kernel
        };
        let reads = || p.step(kernel(false), &[keys.part(0..64)]);
        let before = first.then(reads);
        let [sum] = p.step(kernel(by_port), &[if by_port { part } else { part.secret() }]);
        let after = (!first).then(reads);
        p.output("sum", sum);
        before.into_iter().chain(after).for_each(|[other]| p.output("other", other));
        let plan = p.build()?;
        let is_secret = |name| plan.arg(name).is_some_and(|arg| arg.secret);
        assert!(is_secret("secret keys") && is_secret("sum") != by_port, "{takes_views} {by_port} {first}: {plan}");
        assert!(plan.to_string().contains("secret: secret_keys"), "{plan}");
    }
    Ok(())
}

/// Secrets of a plan stay secret in a pipeline that includes the plan: arguments, temporaries, and all values that
/// other steps derive from them.
#[test]
fn plans_in_pipelines_keep_their_secrets() -> Result<()> {
    let step = |ports| AddOne { ports, ..AddOne::new(false, true) };
    for by_port in [false, true] {
        let p = Planner::default().pipeline("inner");
        let key = p.bytes("key", 64);
        let [middle] = match by_port {
            true => p.step(step([Port::input(64).secret(), Port::output(48).secret()]), &[key]),
            false => p.step(step([Port::input(64), Port::output(48)]), &[key.secret()]),
        };
        let [sum] = p.step(step([Port::input(48), Port::output(32)]), &[middle]);
        p.output("sum", sum);
        let inner = p.build()?;
        let p = Planner::default().pipeline("outer");
        let [sum] = p.plan(&inner, &[p.bytes("keys", 128).part(64..128)]);
        let [other] = p.step(step([Port::input(32), Port::output(16)]), &[sum]);
        p.output("other", other);
        let plan = p.build()?;
        let is_secret = |name| plan.arg(name).is_some_and(|arg| arg.secret);
        assert!(is_secret("keys"), "{by_port}: {plan}");
        assert!(is_secret("other") && plan.to_string().contains("secret: keys, other, temp0"), "{plan}");
    }
    Ok(())
}

/// Samples from a key are secret if any step or view declares the key secret, before or after sampling.
#[test]
fn draws_from_secret_keys_are_secret() -> Result<()> {
    let ring: PolyType = "97:x^4+1".parse()?;
    for first in [false, true] {
        let p = Planner::default().pipeline("random_key");
        let seeds = p.bytes("seeds", 64);
        let uniform = || p.sample(&ring, Distribution::Uniform, seeds.part(0..32));
        let before = first.then(uniform);
        let _ = seeds.part(0..48).secret();
        let element = before.unwrap_or_else(uniform);
        p.output("element", element);
        let plan = p.build()?;
        assert!(plan.args().iter().all(|arg| arg.secret), "{plan}");
    }
    Ok(())
}

/// Samples are secret, too, if a copy of their key or the original of their key is declared secret.
#[test]
fn draws_from_copies_of_secret_keys_are_secret() -> Result<()> {
    let ring: PolyType = "97,193:x^8+1".parse()?;
    for of_copy in [false, true] {
        let p = Planner::default().pipeline("random_key");
        let [a, b] = ["a", "b"].map(|name| p.coefficients(name, &ring));
        let joined = p.join(&ring, &[a.limbs(0..1), b.limbs(1..2)]);
        let (key, read) = if of_copy { (joined, a) } else { (a, joined) };
        let element = p.sample(&ring, Distribution::Uniform, key);
        let ports = [Port::input(ring.bytes()).secret(), Port::output(1)];
        let [sum] = p.step(AddOne { ports, ..AddOne::new(false, true) }, &[read]);
        p.output("sum", sum);
        p.output("element", element);
        let plan = p.build()?;
        assert_eq!(["a", "element"].map(|name| plan.arg(name).map(|arg| arg.secret)), [Some(true); 2], "{plan}");
    }
    Ok(())
}

/// If a concatenated value is declared secret, so are its parts (in place or copied) and all values derived from them.
#[test]
fn results_from_parts_of_secret_joins_are_secret() -> Result<()> {
    let ring: PolyType = "97,193:x^8+1".parse()?;
    let p = Planner::default().pipeline("parts");
    let [a, b] = ["a", "b"].map(|name| p.coefficients(name, &ring));
    let doubled = a + a;
    let parts = [doubled.limbs(0..1), b.limbs(1..2)];
    let _ = p.join(&ring, &parts).secret();
    p.output("of a copy", b * b);
    p.output("of a sum", doubled * doubled);
    p.output("of neither", a * a);
    let plan = p.build()?;
    let secret = ["b", "of a copy", "of a sum", "of neither"].map(|name| plan.arg(name).map(|arg| arg.secret));
    assert_eq!(secret, [true, true, true, false].map(Some), "{plan}");
    Ok(())
}

/// If a step declares concatenated copies of limbs secret, the originals are secret, too.
#[test]
fn originals_of_secret_copies_are_secret() -> Result<()> {
    let ring: PolyType = "97,193:x^4+1".parse()?;
    let p = Planner::default().pipeline("secrets");
    let whole = &ring;
    let [a, b] = ["a", "b"].map(|name| p.coefficients(name, &ring));
    let joined = p.join(whole, &[a.limbs(0..1), b.limbs(1..2)]);
    let ports = [Port::input(ring.bytes()).secret(), Port::output(1)];
    let [sum] = p.step(AddOne { ports, ..AddOne::new(false, true) }, &[joined]);
    p.output("sum", sum);
    let plan = p.build()?;
    assert_eq!(["a", "b", "sum"].map(|name| plan.arg(name).map(|arg| arg.secret)), [true, true, false].map(Some));
    Ok(())
}

/// The kernel that `on_views` returns must have the ports of the original kernel. A larger port would access foreign
/// memory, and a port of pointers would follow invalid ones.
#[test]
fn kernels_do_not_change_on_views() {
    #[derive(Debug)]
    struct Changes(AddOne, Port);

    impl Kernel for Changes {
        fn name(&self) -> &str {
            self.0.name()
        }
        fn ports(&self) -> &[Port] {
            &self.0.ports
        }
        fn source(&self, limits: &Limits) -> Result<Source> {
            self.0.source(limits)
        }
        fn on_views(&self, _: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
            let ports = [self.1.with_stride(strides[0]), self.0.ports[1].with_stride(strides[1])];
            Some(Arc::new(AddOne { ports, ..self.0 }))
        }
        fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
            self.0.on_cpu(items, args)
        }
    }

    let why = |port: Port| {
        let p = Planner::default().pipeline("changes");
        let [sum] = p.step(Changes(AddOne::new(true, true), port), &[p.bytes("bytes", 3).part(1..2)]);
        p.output("sum", sum);
        p.build().map(|plan| plan.to_string())
    };
    let viewed = "changes\n  add_one      bytes[1..2] -> sum";
    assert_eq!(why(Port::input(1)), Ok(viewed.into()));
    // the value is copied, as if the kernel did not support views
    let copied = "changes\n  copy         bytes[1..2] -> temp0\n  add_one      temp0 -> sum";
    for other in [Port::input(2), Port::in_out(1), Port::shared(1)] {
        assert_eq!(why(other), Ok(copied.into()));
    }
    let pointers = why(Port { tables: 8, ..Port::input(1) });
    let Err(Error::Plan { why, .. }) = pointers else { panic!("{pointers:?}") };
    assert_eq!(why, "add_one has pointers to tables at a port that is bound to a value");
}

/// The emulator changes the bytes between views from run to run, so it finds kernels that read them.
#[test]
fn kernels_that_read_between_views_are_found() -> Result<()> {
    let Some(device) = Target::Emulator.device() else { return Ok(()) };
    let program = device.compile(&second(device.limits(), AddOne::new(true, false))?)?;
    let mut sums = [0u8; 70];
    let outcome = program.on_host(70).input("bytes", &[1u8; 210]).output("sum", &mut sums).run();
    let Err(Error::Kernel { why, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(why.starts_with("its result depends on the schedule"), "{why}");
    Ok(())
}

/// Temporaries hold few items at a time if memory is limited, and results stay the same.
#[test]
fn batches_are_cut_to_a_budget() -> Result<()> {
    let ring: PolyType = "998244353:x^64+1".parse()?;
    for device in devices() {
        let (engine, batch) = (Engine::on(device), 37);
        let p = engine.pipeline("fourth power");
        let square = |x| x * x;
        let [a, key] = [p.coefficients("a", &ring), p.shared("key", ring.bytes()).holding(&ring)];
        let scaled = square(a) * square(key);
        p.output("power", square(square(scaled)));
        let program = engine.compile(p)?;
        let stream = engine.stream()?;
        let [a, key] = [residues(&ring, 3, batch), residues(&ring, 4, 1)].map(|bytes| stream.upload(&bytes));
        let (a, key) = (a?, key?);
        let mut results = Vec::new();
        for budget in [usize::MAX, program.plan().temporary_bytes(8), 0] {
            let mut power = engine.device().buffer(batch * ring.bytes())?;
            let call = program.on(stream, batch).input("a", &a).input("key", &key).output("power", &mut power);
            call.within(budget).run()?;
            results.push(stream.download::<u8>(&power)?);
        }
        assert!(results.iter().all(|result| *result == results[0]), "{} on {}", program.plan(), engine.device());
    }
    Ok(())
}

#[test]
fn rings_of_limbs() -> Result<()> {
    let ring: PolyType = "97,193,257#0,1,2,1:x^16+1@19,8,9:plain".parse()?;
    let text = |limbs| ring.limbs(limbs).map(|ring| format!("{ring:#}"));
    assert_eq!(text(1..4)?, "193,257 # 0,1,0 : x^16 + 1 @ 8,9");
    assert_eq!(text(0..1)?, "97 : x^16 + 1 @ 19");
    assert_eq!(ring.limbs(0..4)?, ring);
    let why = |ring: &PolyType, limbs| match ring.limbs(limbs) {
        Err(Error::Ring { why }) => why,
        other => panic!("{other:?}"),
    };
    for limbs in [0..0, 3..5, 5..6] {
        assert!(why(&ring, limbs).contains("empty or out of range"));
    }
    let wide: PolyType = "1152921504606830593,12289:x^8+1".parse()?;
    // the limb is stored in 64 bits as in the whole basis, although 16 bits would suffice
    let narrow = wide.limbs(1..2)?;
    assert_eq!((format!("{narrow:#}"), narrow.bytes()), ("12289 : x^8 + 1 : 64 bits".into(), 64));
    Ok(())
}
