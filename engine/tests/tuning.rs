//! Tuning choices: their file format, their effect on plans, and that they do not change results.

use ringforge::kernels::Arithmetic;
use ringforge::tuning::{Choice, Tuning};
use ringforge::{Device, Error, Job, Limits, Modulus, Op, Order, Planner, PolyType, Ring};
use ringforge_testkit::{Target, residues};

const PRIME_49: u64 = 562_949_950_537_729;
const PRIME_60: u64 = 1_152_921_504_606_584_833;
const BLS12_381: &str = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";

fn ring(n: usize, q: u64) -> PolyType {
    PolyType::from(Ring::negacyclic(n, Modulus::new(q).expect("a modulus")).expect("a ring"))
}

fn choice(change: impl FnOnce(&mut Choice)) -> Choice {
    let mut choice = Choice::default();
    change(&mut choice);
    choice
}

fn all() -> Choice {
    choice(|choice| {
        choice.shuffles = true;
        choice.arithmetic = Some(Arithmetic::Mod64);
        choice.kernels = Some(3);
        choice.per_thread = Some(8);
    })
}

/// A planner with this choice for a job, after a round trip of the choice through the file format.
fn planner(limits: &Limits, job: &Job, choice: Choice) -> Planner {
    let mut tuning = Tuning::default();
    tuning.choose(job, choice);
    let text = tuning.to_text(limits);
    Planner::new(limits.clone()).tuned(Tuning::from_text(&text, limits).unwrap_or_else(|e| panic!("{e}:\n{text}")))
}

#[test]
fn a_file_records_the_choices() -> ringforge::Result<()> {
    let limits = Limits::h200();
    let job = Job::new(ring(1 << 16, PRIME_49), Op::Forward);
    let mut tuning = Tuning::default();
    tuning.choose(&job, all());
    tuning.choose(&Job::new(ring(256, 7681), Op::Mul), choice(|choice| choice.per_thread = Some(4)));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("h200.toml");
    tuning.save(&path, &limits)?;
    let read = Tuning::load(&path, &limits)?;
    assert_eq!(read, tuning);
    assert_eq!(read.choice(&job), all());

    // the choice applies to any modulus of the same size and any order, but to no other operation, size or degree
    let alike = Job::new(Ring::cyclic(1 << 16, Modulus::new(1_125_899_906_826_241u64)?)?, Op::Forward);
    assert_eq!(read.choice(&alike.order(Order::Natural)), all());
    for other in [
        Job::new(ring(1 << 16, PRIME_49), Op::Inverse),
        Job::new(ring(1 << 16, PRIME_60), Op::Forward),
        Job::new(ring(1 << 15, PRIME_49), Op::Forward),
    ] {
        assert_eq!(read.choice(&other), Choice::default());
    }

    // the last choice for a job counts, and a default choice is not written
    tuning.choose(&job, Choice::default());
    assert!(!tuning.to_text(&limits).contains("65536"));
    for tuning in [Tuning::default(), Tuning::default().unfused(), tuning.unfused()] {
        assert_eq!(Tuning::from_text(&tuning.to_text(&limits), &limits)?, tuning);
    }
    Ok(())
}

#[test]
fn a_file_of_another_device_is_refused() {
    let text = Tuning::default().to_text(&Limits::h200());
    let wanted = Error::Mismatch { what: "tuned device".into(), expected: "sm_120".into(), got: "NVIDIA H200".into() };
    assert_eq!(Tuning::from_text(&text, &Limits::of_capability(120)), Err(wanted));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("other.toml");
    Tuning::default().save(&path, &Limits::h200()).expect("a file");
    let error = Tuning::load(&path, &Limits::cpu()).expect_err("another device");
    assert!(error.to_string().contains("other.toml: tuned device: expected CPU, got NVIDIA H200"), "{error}");
}

#[test]
fn malformed_files_are_refused() {
    let entry = |lines: &str| format!("device = \"CPU\"\n[[choice]]\n{lines}\n");
    let shape = "op = \"forward\"\nbits = 62\nn = 64\n";
    let with = |line: &str| entry(&format!("{shape}{line}"));
    for (text, why) in [
        (String::new(), "missing field `device`"),
        ("device = CPU".into(), "line 1"),
        ("device = \"CPU\"\nspeed = 9".into(), "unknown field `speed`"),
        (entry(""), "missing field `op`"),
        (entry("op = \"fly\"\nbits = 62\nn = 64"), "the operations are "),
        (entry("op = \"forward\"\nbits = 61\nn = 64"), "bits = 61"),
        (entry("op = \"forward\"\nbits = 62\nn = -1"), "invalid value"),
        (with("kernel = 2"), "unknown field `kernel`"),
        (with("kernels = 0"), "at least 1"),
        (with("per_thread = 0"), "at least 1"),
        (with("arithmetic = \"Mod7\""), "unknown arithmetic \"Mod7\""),
        (with("shuffles = 3"), "invalid type"),
        (
            with("") + &with("")["device = \"CPU\"\n".len()..],
            "duplicate choice for op = \"forward\", bits = 62, n = 64",
        ),
    ] {
        match Tuning::from_text(&text, &Limits::cpu()) {
            Err(Error::File { why: found, .. }) => assert!(found.contains(why), "{why} is not in:\n{found}"),
            other => panic!("{other:?}:\n{text}"),
        }
    }
    assert!(Tuning::from_text(&with("shuffles = false"), &Limits::cpu()).is_ok());
    let missing = Tuning::load("no/such/file.toml", &Limits::cpu());
    assert!(matches!(missing, Err(Error::File { path, .. }) if path == "no/such/file.toml"));
}

#[test]
fn plans_show_the_choices() -> ringforge::Result<()> {
    let limits = Limits::h200();
    let job = Job::new(ring(1 << 16, PRIME_49), Op::Forward);
    let usual = Planner::new(limits.clone()).plan(&job)?;
    assert_eq!(usual.kernels().len(), 2);
    let plan = planner(&limits, &job, all()).plan(&job)?;
    assert_eq!(plan.kernels().len(), 3);
    let text = plan.to_string();
    assert!(text.contains("in Mod64 with 8 a thread"), "{text}");
    // choices for one job do not affect other jobs
    let other = Job::new(ring(1 << 15, PRIME_49), Op::Forward);
    let other_text = |planner: Planner| planner.plan(&other).map(|plan| plan.to_string());
    assert_eq!(other_text(planner(&limits, &job, all()))?, other_text(Planner::new(limits.clone()))?);

    // impossible choices are ignored
    let impossible = choice(|choice| {
        choice.arithmetic = Some(Arithmetic::Mod16);
        choice.kernels = Some(17);
        choice.per_thread = Some(3);
    });
    assert_eq!(planner(&limits, &job, impossible).plan(&job)?.to_string(), usual.to_string());
    Ok(())
}

/// The output of a job that is planned with this choice.
fn run(device: &Device, job: &Job, choice: Choice, inputs: &[&[u8]]) -> Vec<u8> {
    let plan = planner(device.limits(), job, choice).plan(job).unwrap_or_else(|e| panic!("{job}, {choice:?}: {e}"));
    // the choice must have an effect, except for fused products and on a CPU, where few choices exist
    if choice != Choice::default() && job.op != Op::Mul && !device.limits().is_cpu() {
        let usual = planner(device.limits(), job, Choice::default()).plan(job).map(|plan| plan.to_string());
        assert_ne!(usual, Ok(plan.to_string()), "{choice:?} changes nothing");
    }
    let program = device.compile(&plan).unwrap_or_else(|e| panic!("{plan}: {e}"));
    let mut out = vec![0; inputs[0].len()];
    let call = program.on_host(inputs[0].len() / job.poly.bytes());
    let call = plan.args().iter().zip(inputs).fold(call, |call, (arg, input)| call.input(&arg.name, input));
    call.output(&plan.args()[inputs.len()].name, &mut out).run().unwrap_or_else(|e| panic!("{plan}: {e}"));
    out
}

#[test]
fn no_choice_changes_a_result() -> ringforge::Result<()> {
    let shuffled = choice(|choice| choice.shuffles = true);
    let few = choice(|choice| choice.per_thread = Some(4));
    let shared_out = choice(|choice| choice.kernels = Some(2));
    let words = choice(|choice| choice.arithmetic = Some(Arithmetic::Mod64));
    let doubles = choice(|choice| choice.arithmetic = Some(Arithmetic::Mod50));
    let montgomery = choice(|choice| choice.arithmetic = Some(Arithmetic::Mod256));
    let bls = PolyType::from(Ring::cyclic(256, Modulus::from_hex(BLS12_381)?)?);
    let tasks = [
        (ring(256, PRIME_49), vec![shuffled, few, shared_out, words, doubles]),
        (ring(1024, PRIME_60), vec![shuffled, few, shared_out]),
        (bls, vec![shared_out, montgomery]),
    ];
    for device in [Target::Cpu, Target::Emulator, Target::Cuda].into_iter().filter_map(Target::device) {
        for (ring, choices) in &tasks {
            let (a, b) = (residues(ring, 1, 2), residues(ring, 2, 2));
            let transforms =
                [Op::Forward, Op::Inverse].map(|op| (Job::new(ring, op).order(Order::Natural), vec![&a[..]]));
            let product = (Job::new(ring, Op::Mul), vec![&a[..], &b]);
            for (job, inputs) in &transforms.into_iter().chain([product]).collect::<Vec<_>>() {
                let usual = run(&device, job, Choice::default(), inputs);
                for &choice in choices {
                    assert!(run(&device, job, choice, inputs) == usual, "{job} on {device}: {choice:?}");
                }
            }
        }
    }
    Ok(())
}
