//! Tests that an item that a kernel skips does not get the status `OK`.

use core::ops::Range;
use std::sync::Arc;

use ringforge::kernels::{Args, Built, Kernel, Port, Source, Table};
use ringforge::{Device, Limits, Planner, Result};
use ringforge_batch::{BatchStatus, ErrorKind, OK};
use ringforge_sm2::{Sm2, Sm2Error};
use ringforge_testkit::inject::unseen_steps;
use ringforge_testkit::{Named, NamedPlan, Scheme, devices};

const BATCH: usize = 5;

/// A kernel of the verification plan that skips `item`, if given, both in its CUDA source and in its CPU reference.
#[derive(Debug)]
struct Skips {
    inner: Arc<dyn Kernel>,
    item: Option<usize>,
}

impl Kernel for Skips {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn ports(&self) -> &[Port] {
        self.inner.ports()
    }

    #[allow(unsafe_code)]
    fn source(&self, limits: &Limits) -> Result<Source> {
        const GUARD: &str = "if (item >= end) return;";
        let own = self.inner.source(limits)?;
        let Some(item) = self.item else { return Ok(own) };
        assert!(own.cuda_source().contains(GUARD), "sm2_verify.cu has another guard");
        let text = own.cuda_source().replace(GUARD, &format!("if (item >= end || item == {item}) return;"));
        let built = Built { prelude: own.prelude().into(), launch: own.launch() };
        // SAFETY: The altered source accesses no other bytes than the original one: it only skips one more item.
        Ok(unsafe { Source::new(self, text, own.headers(), built) })
    }

    fn table(&self, port: usize) -> Option<Table> {
        self.inner.table(port)
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        // the whole range that contains the item is skipped
        if self.item.is_some_and(|item| items.contains(&item)) { Ok(()) } else { self.inner.on_cpu(items, args) }
    }
}

/// Returns the verification plan with its samples.
fn verification(device: &Device) -> NamedPlan {
    let plans = Sm2::plans(device.limits()).expect("plans");
    plans.into_iter().find(|named| named.name == "SM2 verify").expect("a plan that verifies")
}

/// Runs verification and returns each item's error. The verification kernel skips item `skipped`, if given. The table
/// kernel computes tables of the keys in the input that `owners` names. The status buffer is initially `OK` for all
/// items, as if left from an earlier run.
fn told(device: &Device, inputs: &Named, owners: &str, skipped: Option<usize>) -> Vec<Option<ErrorKind<Sm2Error>>> {
    let sound = verification(device).plan;
    let kernel = |step: usize, item| Skips { inner: sound.kernels().nth(step).expect("two steps").clone(), item };
    let p = Planner::new(device.limits().clone()).pipeline("SM2 verify, altered");
    let [keys, digests, signatures] = ["public keys", "digests", "signatures"].map(|name| p.input(name));
    let owners = if owners == "public keys" { keys } else { p.input(owners) };
    let [tables] = p.step(kernel(0, None), &[owners]);
    let [statuses] = p.step(kernel(1, skipped), &[keys, digests, signatures, tables]);
    p.output("statuses", statuses);
    let program = device.compile(&p.build().expect("a plan")).expect("it compiles");
    let mut statuses = [OK; BATCH];
    let call = inputs.iter().fold(program.on_host(BATCH), |call, (name, bytes)| call.input(name, bytes));
    call.output("statuses", &mut statuses).run().expect("it runs");
    let status = BatchStatus::of(&statuses);
    (0..BATCH).map(|item| status.errors().iter().find(|error| error.item == item).map(|error| error.kind)).collect()
}

/// Returns inputs for verification, and the indices of the valid items.
fn sample(device: &Device) -> (Named, Vec<usize>) {
    let inputs = verification(device).sample(2, BATCH);
    let sound = told(device, &inputs, "public keys", None);
    (inputs, (0..BATCH).filter(|&item| sound[item].is_none()).collect())
}

#[test]
fn skipped_signatures_are_not_valid() {
    for device in devices() {
        let (inputs, valid) = sample(&device);
        let found = told(&device, &inputs, "public keys", Some(valid[0]));
        assert_eq!(found[valid[0]], Some(ErrorKind::NotReached), "{device}");
    }
}

#[test]
fn skipped_items_are_never_ok() {
    for named in Sm2::plans(&Limits::cpu()).expect("plans") {
        if named.plan.arg("statuses").is_none_or(|arg| !arg.status) {
            continue;
        }
        let unseen = unseen_steps(&named, OK, 2, 5).expect("runs");
        let names: Vec<_> = named.plan.kernels().map(|kernel| kernel.name()).collect();
        // a skipped `sm2_sign_again` changes nothing, because most items need no further nonce
        assert!(unseen.iter().all(|&step| names[step] == "sm2_sign_again"), "{}: {unseen:?}", named.name);
    }
}

#[test]
fn tables_of_other_keys_are_not_used() {
    for device in devices() {
        let (mut inputs, valid) = sample(&device);
        let [first, second, ..] = valid[..] else { panic!("two valid ones") };
        // the first item names the second item's key, but its signature and table belong to its own key
        inputs.insert("owners".into(), inputs["public keys"].clone());
        let keys = inputs.get_mut("public keys").expect("keys");
        keys.copy_within(64 * second..64 * (second + 1), 64 * first);
        assert_eq!(told(&device, &inputs, "owners", None)[first], Some(ErrorKind::NotReached), "{device}");
    }
}
