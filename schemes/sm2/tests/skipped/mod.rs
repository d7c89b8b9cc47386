//! Items that a step passes over are not fine.

use core::ops::Range;
use std::sync::Arc;

use ringforge::testkit::inject::unseen_steps;
use ringforge::testkit::{Scheme, devices};
use ringforge::{Args, Built, HostArg, Kernel, Limits, Plan, Port, Slot, Source, Step};
use ringforge_sm2::{Reason, Sm2};

/// A step that passes over an item, in its text as in its meaning.
#[derive(Debug)]
struct Skips {
    inner: Arc<dyn Kernel>,
    text: &'static str,
    item: usize,
}

impl Skips {
    const GUARD: &str = "if (item >= end) return;";

    fn new(step: &Step, item: usize) -> Self {
        let text = include_str!("../../src/kernels/sm2_verify.cu");
        assert!(text.contains(Self::GUARD), "sm2_verify.cu has another guard");
        let text = text.replace(Self::GUARD, &format!("if (item >= end || item == {item}) return;")).leak();
        Self { inner: step.kernel.clone(), text, item }
    }
}

impl Kernel for Skips {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn ports(&self) -> &[Port] {
        self.inner.ports()
    }

    #[allow(unsafe_code)]
    fn source(&self, limits: &Limits) -> ringforge::Result<Source> {
        let own = self.inner.source(limits)?;
        let built = Built { prelude: own.prelude().into(), launch: own.launch() };
        // SAFETY: as the text that this one is made of, with one item less.
        Ok(unsafe { Source::new(self, self.text, own.headers(), built) })
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> ringforge::Result<()> {
        // with its neighbours, which nobody reaches then either
        if items.contains(&self.item) { Ok(()) } else { self.inner.on_cpu(items, args) }
    }
}

#[test]
fn a_signature_that_no_kernel_saw_is_not_valid() {
    const BATCH: usize = 5;
    for device in devices() {
        let plans = Sm2::plans(device.limits()).expect("plans");
        let named = plans.iter().find(|named| named.name == "SM2 verify").expect("a plan that verifies");
        let inputs = named.sample(2, BATCH);
        let told = |plan: &Plan| {
            // as after another run, whose items were all fine
            let mut statuses = [Reason::FINE; BATCH];
            let mut args: Vec<HostArg<'_>> = inputs.iter().map(|bytes| HostArg::from(&bytes[..])).collect();
            args.push(HostArg::from(&mut statuses[..]));
            device.compile(plan).expect("it compiles").run_host(BATCH, &mut args).expect("it runs");
            Reason::faults(&statuses)
        };
        let sound = told(&named.plan);
        let valid = (0..BATCH).find(|item| sound.iter().all(|fault| fault.item != *item)).expect("a valid one");
        let mut steps = named.plan.steps().to_vec();
        let last = steps.last_mut().expect("a step");
        last.kernel = Arc::new(Skips::new(last, valid));
        let skipped = told(&Plan::new("SM2 verify, but not all", steps).expect("a plan"));
        let about = |item: usize| skipped.iter().find(|fault| fault.item == item).map(|fault| fault.why);
        assert_eq!(about(valid), Some(Reason::NotReached), "{device}");
    }
}

#[test]
fn no_item_is_fine_that_a_step_passed_over() {
    for named in Sm2::plans(&Limits::cpu()).expect("plans") {
        if named.plan.args().last().is_none_or(|arg| !arg.status) {
            continue;
        }
        let unseen = unseen_steps(&named, Reason::FINE, 2, 5).expect("runs");
        let names: Vec<_> = unseen.iter().map(|&step| named.plan.steps()[step].kernel.name()).collect();
        // the nonces of most items are not refused
        assert!(names.iter().all(|name| *name == "sm2_sign_again"), "{}: {names:?}", named.name);
    }
}

#[test]
fn the_table_of_another_key_is_not_taken() {
    const BATCH: usize = 5;
    for device in devices() {
        let plans = Sm2::plans(device.limits()).expect("plans");
        let named = plans.iter().find(|named| named.name == "SM2 verify").expect("a plan that verifies");
        // tables are made of a further argument
        let mut steps = named.plan.steps().to_vec();
        steps[0].slots[0] = Slot::Arg(4);
        let program = device.compile(&Plan::new("SM2 verify by others' tables", steps).expect("a plan"));
        let program = program.expect("it compiles");
        let inputs = named.sample(2, BATCH);
        let faults = |claimed: &[u8]| {
            let mut statuses = [0u32; BATCH];
            let [owners, digests, signatures] = &inputs[..] else { panic!("three arguments") };
            let args = &mut [
                claimed.into(),
                digests[..].into(),
                signatures[..].into(),
                HostArg::from(&mut statuses[..]),
                owners[..].into(),
            ];
            program.run_host(BATCH, args).expect("it runs");
            Reason::faults(&statuses)
        };
        let sound = faults(&inputs[0]);
        let is_valid = |item: &usize| sound.iter().all(|fault| fault.item != *item);
        let valid: Vec<usize> = (0..BATCH).filter(is_valid).collect();
        let [first, second, ..] = valid[..] else { panic!("two valid ones") };
        // the signature is by the owner, whose table it is, and another one claims it
        let mut claimed = inputs[0].clone();
        claimed.copy_within(64 * second..64 * (second + 1), 64 * first);
        let why = faults(&claimed).iter().find(|fault| fault.item == first).map(|fault| fault.why);
        assert_eq!(why, Some(Reason::NotReached), "{device}");
    }
}
