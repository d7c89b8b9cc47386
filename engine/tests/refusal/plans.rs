//! Pipelines whose parts do not fit together, and kernels that violate their declared ports.

use core::ops::Range;
use std::sync::Arc;

use ringforge::kernels::{Port, Sharing, Table};
use ringforge::{Device, Error, Job, Op, Order, Pipeline, Planner, PolyType, RandomKey, Result, Value};
use ringforge_testkit::Target;
use ringforge_testkit::one_step;

use super::kernels::{Fake, Lent, Misuse};
use super::refused;

const IN: Port = Port::input(4);
const OUT: Port = Port::output(4);
const IN_OUT: Port = Port::in_out(4);

/// The error message of a pipeline.
#[track_caller]
fn refusal(make: impl FnOnce(&Pipeline)) -> String {
    let p = Planner::default().pipeline("plan");
    make(&p);
    match p.build() {
        Err(Error::Plan { plan, why }) if plan == "plan" => why,
        other => panic!("{other:?}"),
    }
}

/// The error message of a pipeline without its source location, which must be in this file.
#[track_caller]
fn mistake(make: impl FnOnce(&Pipeline)) -> String {
    let why = refusal(make);
    match why.rsplit_once(" (at ") {
        Some((words, place)) if place.starts_with(file!()) => words.into(),
        _ => panic!("no source location in: {why}"),
    }
}

/// Applies a kernel with these ports and returns its one output.
#[track_caller]
fn apply<'p>(p: &'p Pipeline, ports: &[Port], inputs: &[Value<'_>]) -> Value<'p> {
    p.step::<1>(Fake::new(ports), inputs)[0]
}

const PAIR: [Port; 2] = [IN, OUT];

#[test]
fn the_first_mistake_has_its_source_location() {
    let mut line = 0;
    let why = refusal(|p| {
        let x = p.input("x");
        line = line!() + 1;
        let y = apply(p, &[OUT], &[x]);
        // errors that follow from the first one are not reported
        p.output("z", apply(p, &PAIR, &[y, y]));
        p.output("z", y * y.forward().holding("17:x^4+1".parse::<PolyType>().expect("a ring")));
        p.output("x", x);
    });
    assert!(why.starts_with(&format!("fake takes 0 values, but got 1 (at {}:{line}:", file!())), "{why}");
}

#[test]
fn values_of_the_wrong_size() {
    let words = |ports: &[Port]| {
        mistake(|p| {
            let x = p.input("x");
            apply(p, &PAIR, &[x]);
            apply(p, ports, &[x]);
        })
    };
    assert_eq!(words(&[Port::input(8), OUT]), "fake needs 8 bytes per item, but the input x has 4 bytes per item");
    let shared = [Port::shared(4), OUT];
    assert_eq!(words(&shared), "fake needs 4 bytes shared by all items, but the input x has 4 bytes per item");
    let written = |ports: &[Port]| mistake(|p| _ = apply(p, ports, &[apply(p, &PAIR, &[p.input("x")])]));
    assert_eq!(
        written(&[Port::input(3), OUT]),
        "fake needs 3 bytes per item, but the output of fake has 4 bytes per item"
    );
    assert_eq!(written(&shared), "fake needs 4 bytes shared by all items, but the output of fake has 4 bytes per item");
    // a plan within the pipeline, which needs more bytes than the value has
    let part = one_step(Fake::new(&[Port::input(8), OUT]), &["a", "b"]).expect("a plan");
    let joined = mistake(|p| _ = p.plan::<1>(&part, &[apply(p, &PAIR, &[p.input("x")])]));
    assert_eq!(joined, "fake needs 8 bytes per item, but the output of fake has 4 bytes per item");
    let same = Planner::default().pipeline("same");
    let x = same.input("x");
    same.output("y", apply(&same, &PAIR, &[x]));
    same.output("z", apply(&same, &PAIR, &[x]));
    assert!(same.build().is_ok());
}

#[test]
fn draws_and_other_values_are_not_mixed() {
    let words = |first: Port, second: Port| {
        mistake(|p| {
            let x = p.input("x");
            apply(p, &[first, OUT], &[x]);
            apply(p, &[second, OUT], &[x]);
        })
    };
    let (random_key, shared) = (Port::random_key(), Port::shared(RandomKey::BYTES));
    assert_eq!(words(random_key, shared), "the input x is for `RandomKey`, but fake is not");
    assert_eq!(words(shared, random_key), "fake is for `RandomKey`, but the input x is not");
}

#[test]
fn wrong_numbers_of_values() {
    let step = |count| {
        mistake(|p| {
            let x = p.input("x");
            apply(p, &PAIR, &vec![x; count]);
        })
    };
    assert_eq!((step(0), step(2)), ("fake takes 1 values, but got 0".into(), "fake takes 1 values, but got 2".into()));
    assert_eq!(
        mistake(|p| _ = p.step::<2>(Fake::new(&PAIR), &[p.input("x")])),
        "expected 2 output values, but there are 1"
    );
    assert_eq!(
        mistake(|p| _ = p.step::<0>(Fake::new(&PAIR), &[p.input("x")])),
        "expected 0 output values, but there are 1"
    );
    // a table does not count as an input
    let kernel = || with_table(&[Port::shared(8), IN, OUT], table(8));
    let words = mistake(|p| _ = p.step::<1>(kernel(), &[p.input("x"); 2]));
    assert_eq!(words, "fake takes 1 values, but got 2");
    let part = one_step(Fake::new(&[IN, IN_OUT, OUT]), &["a", "b", "c"]).expect("a plan");
    let join = |count| mistake(|p| _ = p.plan::<2>(&part, &vec![p.input("x"); count]));
    assert_eq!(
        (join(1), join(3)),
        ("fake takes a, b, but got 1 values".into(), "fake takes a, b, but got 3 values".into())
    );
    assert_eq!(
        mistake(|p| _ = p.plan::<1>(&part, &["x", "y"].map(|name| p.input(name)))),
        "expected 1 output values, but there are 2"
    );
    let ring: PolyType = "17:x^4+1".parse().expect("a ring");
    let job = Job::new(&ring, Op::Mul);
    let product = mistake(|p| _ = p.job(&job, &[p.coefficients("x", &ring)]));
    assert_eq!(product, format!("{job} takes a, b, but got 1 values"));
}

#[test]
fn values_of_another_pipeline() {
    let other = Planner::default().pipeline("other");
    let ring: PolyType = "17:x^4+1".parse().expect("a ring");
    let (x, a) = (other.input("x"), other.coefficients("a", &ring));
    let words = "a value belongs to another pipeline, other";
    assert_eq!(mistake(|p| _ = apply(p, &PAIR, &[x])), words);
    assert_eq!(mistake(|p| p.output("y", x)), words);
    assert_eq!(mistake(|p| _ = p.plan::<1>(&one_step(Fake::new(&PAIR), &["a", "b"]).expect("a plan"), &[x])), words);
    assert_eq!(mistake(|p| _ = p.coefficients("b", &ring) * a), words);
}

#[test]
fn overwritten_values() {
    let words = |read: &dyn Fn(&Pipeline, Value<'_>)| {
        mistake(|p| {
            let x = p.input("x");
            p.output("x", apply(p, &[IN_OUT], &[x]));
            read(p, x);
        })
    };
    let gone = "the input x cannot be used after fake overwrote it";
    assert_eq!(words(&|p, x| _ = apply(p, &PAIR, &[x])), gone);
    assert_eq!(words(&|p, x| p.output("y", x)), gone);
    assert_eq!(words(&|p, x| _ = p.plan::<1>(&one_step(Fake::new(&PAIR), &["a", "b"]).expect("a plan"), &[x])), gone);
    // an error also if the overwritten value is the output of a step, and if a plan within the pipeline overwrites it
    let part = one_step(Fake::new(&[IN_OUT]), &["data"]).expect("a plan");
    let joined = mistake(|p| {
        let value = apply(p, &PAIR, &[p.input("x")]);
        p.output("y", p.plan::<1>(&part, &[value])[0]);
        p.output("z", apply(p, &PAIR, &[value]));
    });
    assert_eq!(joined, "the output of fake cannot be used after fake overwrote it");
    let twice = mistake(|p| _ = p.step::<2>(Fake::new(&[IN_OUT, IN_OUT]), &[p.input("x"); 2]));
    assert_eq!(twice, "fake overwrites the input x twice");
}

#[test]
fn values_that_must_be_preserved() {
    let over_input = refusal(|p| p.output("y", apply(p, &[IN_OUT], &[p.input("x")])));
    assert_eq!(over_input, "fake overwrites the input x, which must be preserved");
    let over_output = refusal(|p| {
        let y = apply(p, &PAIR, &[p.input("x")]);
        p.output("y", y);
        p.output("z", apply(p, &[IN_OUT], &[y]));
    });
    assert_eq!(over_output, "fake overwrites the output of fake, which must be preserved");
    // each output overwrites the input that the other step still needs
    let swapped = refusal(|p| {
        let [x, y] = ["x", "y"].map(|name| p.input(name));
        p.output("y", apply(p, &PAIR, &[x]));
        p.output("x", apply(p, &PAIR, &[y]));
    });
    assert_eq!(swapped, "the input y is still needed when the output of that name overwrites it");
    let sizes = refusal(|p| p.output("x", apply(p, &[IN, Port::output(8)], &[p.input("x")])));
    assert_eq!(sizes, "the output x and the input of that name must have the same size");
}

#[test]
fn unread_inputs() {
    fn unread(p: &Pipeline) -> Value<'_> {
        p.output("y", apply(p, &[OUT], &[]));
        p.input("x")
    }
    assert_eq!(refusal(|p| _ = unread(p)), "no step reads the input x: remove it");
    assert_eq!(mistake(|p| p.output("z", unread(p))), "the input x cannot be output as z: no step writes it");
}

#[test]
fn duplicate_names() {
    let inputs = mistake(|p| {
        p.input("x");
        p.input("x");
    });
    assert_eq!(inputs, "two inputs have the name x: names must be unique");
    let outputs = mistake(|p| {
        let x = p.input("x");
        p.output("y", apply(p, &PAIR, &[x]));
        p.output("y", apply(p, &PAIR, &[x]));
    });
    assert_eq!(outputs, "two outputs have the name y: names must be unique");
    let output = mistake(|p| {
        let y = apply(p, &PAIR, &[p.input("x")]);
        p.output("y", y);
        p.output("z", y);
    });
    assert_eq!(output, "the output of fake is already output as y");
}

#[test]
fn batch_dependent_values() {
    let words = mistake(|p| p.output("y", apply(p, &[IN, OUT.batch_dependent()], &[p.input("x")])));
    assert_eq!(words, "the output of fake cannot be output as y: it is batch-dependent");
    let read = Planner::default().pipeline("read");
    let batch_dependent = apply(&read, &[IN, OUT.batch_dependent()], &[read.input("x")]);
    read.output("y", apply(&read, &[IN.batch_dependent(), OUT], &[batch_dependent]));
    assert!(read.build().is_ok());
}

#[test]
fn elements_of_the_wrong_type() -> Result<()> {
    let [ring, rooted] = ["17:x^4+1", "17:x^4+1@9"].map(str::parse::<PolyType>);
    let (ring, rooted) = (ring?, rooted?);
    let coefficients = format!("coefficients in {ring}");
    let natural = format!("evaluations in {ring} after 2 layers, {}", Order::Natural);
    let values = format!("evaluations in {ring} after 2 layers, {}", Order::DigitReversed);
    let names = ["x", "y"];
    let product = |make: &dyn Fn(&Pipeline) -> [Value<'_>; 2]| {
        mistake(|p| {
            let [x, y] = make(p);
            _ = x * y;
        })
    };
    let (mul, point_mul) = (Job::new(&ring, Op::Mul), Job::new(&ring, Op::PointMul).depth(2));
    // another ring, another domain, another order
    let found = product(&|p| [p.coefficients("x", &ring), p.coefficients("y", &rooted)]);
    assert_eq!(found, format!("b of {mul} must be {coefficients}, but the input y holds coefficients in {rooted}"));
    let found = product(&|p| [p.coefficients("x", &ring), p.coefficients("y", &ring).forward()]);
    assert_eq!(found, format!("b of {mul} must be {coefficients}, but the output of forward holds {values}"));
    let found = product(&|p| [p.evaluations("x", &ring, Order::DigitReversed), p.coefficients("y", &ring)]);
    assert_eq!(found, format!("b of {point_mul} must be {values}, but the input y holds {coefficients}"));
    let found = product(&|p| {
        let [x, y] = names.map(|name| p.coefficients(name, &ring));
        [x.forward(), y.forward_to(Order::Natural)]
    });
    assert_eq!(found, format!("b of {point_mul} must be {values}, but the output of forward holds {natural}"));
    // a sum of another type; transforms of evaluations
    let found = mistake(|p| {
        let [x, y] = names.map(|name| p.evaluations(name, &ring, Order::DigitReversed));
        _ = x.mul_add(y, p.coefficients("z", &ring));
    });
    let job = Job::new(&ring, Op::MulAdd).depth(2);
    assert_eq!(found, format!("sum of {job} must be {values}, but the input z holds {coefficients}"));
    let job = Job::new(&ring, Op::Forward);
    let found = mistake(|p| _ = p.evaluations("x", &ring, Order::DigitReversed).forward());
    assert_eq!(found, format!("from of {job} must be {coefficients}, but the input x holds {values}"));
    let job = Job::new(&ring, Op::Inverse);
    let found = mistake(|p| _ = p.coefficients("x", &ring).inverse());
    assert_eq!(found, format!("from of {job} must be {values}, but the input x holds {coefficients}"));
    // values that are not ring elements
    let found = mistake(|p| _ = apply(p, &PAIR, &[p.input("x")]).forward());
    assert_eq!(found, "the output of fake is not known to hold ring elements: declare them with `holding`");
    let found = mistake(|p| _ = apply(p, &PAIR, &[p.input("x")]).holding(&ring));
    assert_eq!(found, format!("the output of fake has 4 bytes, but {coefficients} have 8"));
    // a job that has no plan
    let p = Planner::default().pipeline("impossible");
    _ = p.coefficients("x", "1024:x^4+1".parse::<PolyType>()?).forward();
    refused!(p.build(), Error::NotPrime { .. });
    Ok(())
}

/// A kernel with a table for its first port.
fn with_table(ports: &[Port], table: Table) -> Fake {
    Fake { table: Some(table), ..Fake::new(ports) }
}

fn table(bytes: usize) -> Table {
    Table::Bytes(vec![0; bytes].into())
}

#[test]
fn tables_that_do_not_fit() {
    let words = |ports: &[Port], table| mistake(|p| _ = p.step::<1>(with_table(ports, table), &[]));
    let made = |items| Table::Made { kernel: Arc::new(Fake::new(&[OUT])), items, inputs: Vec::new() };
    let ports = [Port::shared(8), OUT];
    for fits in [table(8), made(2)] {
        let plan = one_step(with_table(&ports, fits), &["y"]).expect("a plan");
        assert_eq!((plan.args().len(), plan.tables().map(Table::bytes).collect::<Vec<_>>()), (1, vec![8]));
    }
    for (other, bytes) in [(table(7), 7), (table(0), 0), (made(3), 12)] {
        assert_eq!(words(&ports, other), format!("fake has no shared input port that fits its table of {bytes} bytes"));
    }
    // each pointer must be to a table of the length that the kernel expects; other contents are rejected
    let pointers = [Port::tables(1, 8), OUT];
    assert!(one_step(with_table(&pointers, Table::List(vec![table(8)])), &["y"]).is_ok());
    let lists = [table(8), Table::List(vec![table(7)])].map(|other| words(&pointers, other));
    let [list, value] = [
        words(&ports, Table::List(vec![table(8)])),
        mistake(|p| _ = p.step::<1>(Fake::new(&pointers), &[p.shared("x", 8)])),
    ];
    for words in lists.into_iter().chain([list]) {
        assert_eq!(words, "fake has no shared input port that fits its table of 8 bytes");
    }
    assert_eq!(value, "fake has a table for a port that it writes, or no table for a port that needs one");
    // a table for an output, and a table for an input with separate bytes for each item
    assert_eq!(
        words(&[OUT], table(4)),
        "fake has a table for a port that it writes, or no table for a port that needs one"
    );
    assert_eq!(words(&PAIR, table(4)), "fake has no shared input port that fits its table of 4 bytes");
}

/// A table may be computed by a kernel: its inputs must fit the kernel, and its last port must be the only output.
#[test]
fn tables_that_cannot_be_made() {
    let made = |ports: &[Port], items, inputs| {
        with_table(&[Port::shared(8), OUT], Table::Made { kernel: Arc::new(Fake::new(ports)), items, inputs })
    };
    let words = |ports: &[Port], items, inputs| {
        let why = mistake(|p| _ = p.step::<1>(made(ports, items, inputs), &[]));
        why.strip_prefix("the table kernel fake ").map(str::to_owned)
    };
    assert!(one_step(made(&[Port::shared(3), OUT], 2, vec![table(3)]), &["y"]).is_ok());
    let (inputs, output) =
        ("must read exactly the table's inputs", "must have an output of the table's size as its last port");
    for (ports, given) in [
        (&[Port::shared(3), OUT][..], vec![]),
        (&[Port::shared(3), OUT], vec![table(2)]),
        (&[OUT], vec![table(2)]),
        (&PAIR, vec![table(4)]),
        (&[OUT, OUT], vec![table(8)]),
    ] {
        assert_eq!(words(ports, 2, given).as_deref(), Some(inputs), "{ports:?}");
    }
    assert_eq!(words(&[Port::shared(4)], 2, vec![]).as_deref(), Some(output));
    assert_eq!(words(&[OUT], usize::MAX, vec![]).as_deref(), Some(output));
    assert_eq!(words(&[], 2, vec![]).as_deref(), Some("has no ports"));
}

#[test]
fn writes_to_shared_ports() {
    let shared = Port { sharing: Sharing::Shared, ..OUT };
    assert_eq!(mistake(|p| _ = apply(p, &[shared], &[])), "fake writes to a shared port: outputs must be per item");
}

#[test]
fn broken_kernels() -> Result<()> {
    let device = Device::cpu();
    let stream = device.stream()?;
    let misuses = [Misuse::NoSuchPort, Misuse::OutputAsInput, Misuse::InputAsOutput, Misuse::Twice, Misuse::Elements];
    let lengths = Fake { misuse: Misuse::Lengths, ..Fake::new(&[Port::input(8), OUT]) };
    for kernel in misuses.map(Fake::broken).into_iter().chain([lengths]) {
        let about = format!("{kernel:?}");
        let program = device.compile(&one_step(kernel, &["x", "y"])?)?;
        let input = stream.upload(&vec![1u8; program.plan().args()[0].bytes])?;
        let mut output = stream.upload(&[5u8; 4])?;
        let outcome = program.on(&stream, 1).input("x", &input).output("y", &mut output).run();
        refused!(outcome, Error::Kernel { ref kernel, .. } if kernel == "fake");
        // the output of a failed run cannot be read
        refused!(stream.download::<u8>(&output), Error::Unwritten { .. });
        assert_eq!(stream.download::<u8>(&input)?[0], 1, "{about}");
    }
    Ok(())
}

#[test]
fn a_source_is_not_lent_to_a_kernel_with_other_ports() -> Result<()> {
    let Some(device) = Target::Emulator.device() else { return Ok(()) };
    let lent = |ports: &[Port]| {
        let lent = Lent { of: Fake::new(&[IN, OUT]), ports: ports.to_vec() };
        one_step(lent, &["x", "y", "z"])
    };
    device.compile(&lent(&[IN, OUT])?)?;
    for ports in [&[Port::input(8), OUT][..], &[IN, Port::in_out(4)], &[Port::shared(4), OUT], &[IN, IN, OUT]] {
        refused!(device.compile(&lent(ports)?), Error::Kernel { ref kernel, .. } if kernel == "fake");
    }
    Ok(())
}

#[test]
fn sources_whose_parameters_do_not_match_ports() -> Result<()> {
    let Some(device) = Target::Emulator.device() else { return Ok(()) };
    let stream = device.stream()?;
    let run = |kernel: Fake| {
        let program = device.compile(&one_step(kernel, &["x", "y"])?)?;
        let (input, mut output) = (stream.upload(&[1u8; 4])?, device.buffer(4)?);
        program.on(&stream, 1).input("x", &input).output("y", &mut output).run()
    };
    run(Fake::new(&[IN, OUT]))?;
    // a parameter count that differs from the number of ports is noticed before anything runs
    for ports in [&[OUT][..], &[IN, IN, OUT]] {
        refused!(device.compile(&one_step(Fake::new(ports), &["x", "y", "z"][3 - ports.len()..])?), Error::Compile { ref kernel, .. } if kernel == "fake");
    }
    let unnamed = Fake { text: "// nothing\n", ..Fake::new(&[IN, OUT]) };
    refused!(run(unnamed), Error::Compile { ref kernel, .. } if kernel == "fake");
    Ok(())
}

#[test]
fn overlapping_and_missing_views() {
    let words = mistake(|p| {
        let x = apply(p, &PAIR, &[p.input("x")]);
        apply(p, &[Port::input(2), Port::in_out(2)], &[x.part(1..3), x.part(0..2)]);
    });
    assert_eq!(words, "fake overwrites the output of fake[0..2], which overlaps the output of fake[1..3]");
    let gone = |view: Range<usize>| {
        move |p: &Pipeline| {
            let x = apply(p, &PAIR, &[p.input("x")]);
            let y = apply(p, &[Port::input(2), Port::in_out(2)], &[x.part(2..4), x.part(0..2)]);
            p.output("y", y);
            p.output("z", x.part(view.clone()));
        }
    };
    assert_eq!(mistake(gone(1..3)), "the output of fake[1..3] cannot be used after fake overwrote it");
    let p = Planner::default().pipeline("apart");
    gone(2..4)(&p);
    assert!(p.build().is_ok());

    let apart = [Port::input(4).with_stride(8), OUT];
    let words = mistake(|p| _ = apply(p, &apart, &[p.input("x")]));
    assert_eq!(words, "fake only works on items with a stride, not on contiguous ones");
    let beyond = mistake(|p| _ = p.bytes("x", 4).part(2..5));
    assert_eq!(beyond, "the input x has 4 bytes, so the view 2..5 is empty or out of range");
    assert_eq!(
        mistake(|p| _ = p.input("x").part(0..1)),
        "the size of the input x is not known: give it with `bytes` or `elements`"
    );
    let statuses = mistake(|p| _ = apply(p, &[IN, Port::status()], &[p.input("x")]).part(0..1));
    assert!(statuses.starts_with("the output of fake has no views"), "{statuses}");
}

#[test]
fn limbs_that_do_not_form_elements() {
    let ring: PolyType = "97,193:x^4+1".parse().expect("a ring");
    let whole = &ring;
    let join = |limbs: &[(usize, usize)]| {
        mistake(|p| {
            let x = p.coefficients("x", &ring);
            let parts: Vec<_> = limbs.iter().map(|&(start, end)| x.limbs(start..end)).collect();
            p.join(whole.clone(), &parts);
        })
    };
    let swapped = "cannot join the input x[8..16]: expected coefficients in Z_97[x]/(x^4 + 1) as a part of";
    assert!(join(&[(1, 2), (0, 1)]).starts_with(swapped));
    assert!(join(&[(0, 1)]).starts_with("the joined parts have 1 limbs, too few for"));
    assert!(join(&[]).starts_with("the joined parts have 0 limbs, too few for"));
}
