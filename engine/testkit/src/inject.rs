//! Fault injection: puts defects into plans, to see whether tests find them. Barriers are deleted, shared memory is
//! halved, entries of a table are swapped, launches of a slab (some blocks of an item) compute the wrong blocks, and
//! items are skipped.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use ringforge_kernels::{HEADERS, Header};

use ringforge_math::error::{Error, Result};
use ringforge_runtime::device::Device;
use ringforge_runtime::kernel::{Args, Kernel, Parts, Port, Source, Table};
use ringforge_runtime::limits::Limits;
use ringforge_runtime::plan::{Plan, Slot, Step};

use super::compare::{Compiled, difference};
use super::emulator::is_emulator;
use super::scheme::NamedPlan;

/// A kernel with altered source, launch or CPU reference. It runs only on the CPU and on the emulator, which checks
/// what the source does.
pub struct Altered {
    inner: Arc<dyn Kernel>,
    /// Source files that replace those of the same name.
    files: Vec<Header>,
    halves_shared: bool,
    passes_over: Option<usize>,
}

impl Altered {
    /// A copy of the kernel, without changes yet.
    #[must_use]
    pub fn new(inner: &Arc<dyn Kernel>) -> Self {
        Self { inner: inner.clone(), files: Vec::new(), halves_shared: false, passes_over: None }
    }

    /// The kernel with `text` as the contents of a source file: its own source (`NAME.cu`), one of its headers, or one
    /// of the engine's. The text is never freed, because sources are `'static`.
    #[must_use]
    pub fn with_text(mut self, file: &'static str, text: String) -> Self {
        self.files.push(Header { name: file, text: text.leak() });
        self
    }

    /// The kernel with half of the dynamic shared memory that its launch needs.
    #[must_use]
    pub fn with_half_shared(mut self) -> Self {
        self.halves_shared = true;
        self
    }

    /// The kernel with a CPU reference that skips this item, together with all items that a CPU thread processes in the
    /// same call.
    #[must_use]
    pub fn passing_over(mut self, item: usize) -> Self {
        self.passes_over = Some(item);
        self
    }
}

impl fmt::Debug for Altered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inner, files, halves_shared, passes_over } = self;
        write!(f, "Altered({inner:?}, {files:?}, {halves_shared}, {passes_over:?})")
    }
}

impl Kernel for Altered {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn ports(&self) -> &[Port] {
        self.inner.ports()
    }

    #[allow(unsafe_code)]
    fn source(&self, limits: &Limits) -> Result<Source> {
        if !is_emulator(limits) {
            let why = format!("altered kernels run only on the emulator, not on {}", limits.name);
            return Err(Error::Unsupported { job: self.name().into(), why });
        }
        let change = |source: &mut Parts| {
            for file in &self.files {
                if file.name == source_name(self.name()) {
                    source.text = file.text.into();
                } else {
                    source.headers.retain(|header| header.name != file.name);
                    source.headers.push(*file);
                }
            }
            if self.halves_shared {
                source.built.launch.shared_bytes /= 2;
            }
        };
        // SAFETY: the altered source runs only on the emulator, which checks its memory accesses.
        Ok(unsafe { self.inner.source(limits)?.with(change) })
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        self.inner.in_place(input, output)
    }

    fn table(&self, port: usize) -> Option<Table> {
        self.inner.table(port)
    }

    fn on_cpu(&self, items: core::ops::Range<usize>, args: &mut Args<'_>) -> Result<()> {
        if self.passes_over.is_some_and(|item| items.contains(&item)) { Ok(()) } else { self.inner.on_cpu(items, args) }
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

/// Returns the plan with altered kernels. `alter` is called with each step's index and kernel; if it returns a kernel,
/// that one takes the place of the step's kernel.
#[must_use]
pub fn with_kernels(plan: &Plan, alter: impl Fn(usize, &Arc<dyn Kernel>) -> Option<Altered>) -> Plan {
    let mut plan = plan.clone();
    for (s, step) in plan.steps.iter_mut().enumerate() {
        if let Some(altered) = alter(s, &step.kernel) {
            step.kernel = Arc::new(altered);
        }
    }
    plan
}

/// A plan with a defect.
#[derive(Debug, Clone)]
pub struct Injection {
    /// A description of the defect: a line of a file, or a kernel's shared memory or table. It is the same for every
    /// plan that has the defect.
    pub what: String,
    /// The plan with the defect.
    pub plan: NamedPlan,
}

impl Injection {
    /// Whether a test that compares `device` with the CPU finds the defect. It does if a run on `device` fails, or if
    /// its result differs from that of `sound` (the plan without the defect) on the CPU.
    ///
    /// # Errors
    /// Errors of the sound plan on the CPU; [`Error::Compile`] if the defect does not compile, because it then proves
    /// nothing.
    pub fn found(&self, sound: &NamedPlan, device: &Device, seed: u64, batch: usize) -> Result<bool> {
        let inputs = sound.sample(seed, batch);
        let expected = Compiled::new(sound, &Device::cpu())?.run(batch, &inputs)?;
        let found = Compiled::new(&self.plan, device).and_then(|compiled| compiled.run(batch, &inputs));
        match found {
            Err(error @ Error::Compile { .. }) => Err(error),
            Err(_) => Ok(true),
            Ok(found) => Ok(difference(&sound.plan, &expected, &found).is_some()),
        }
    }
}

/// Returns the steps that can skip an item on the CPU without an effect on its status. The item is the first one that
/// has the status `ok` in a run without defects. A step is returned if the item still has that status when only this
/// step skips it. Statuses are read from the plan's output `statuses`.
///
/// # Errors
/// Errors of the runs; [`Error::Unsupported`] if no item has the status `ok` in the run without defects.
pub fn unseen_steps(named: &NamedPlan, ok: u32, seed: u64, batch: usize) -> Result<Vec<usize>> {
    let inputs = named.sample(seed, batch);
    let statuses = |named: &NamedPlan| -> Result<Vec<u8>> {
        let outputs = Compiled::new(named, &Device::cpu())?.run(batch, &inputs)?;
        Ok(outputs.get("statuses").cloned().unwrap_or_default())
    };
    let is_ok = |statuses: &[u8], item: usize| statuses.chunks(4).nth(item) == Some(&ok.to_ne_bytes()[..]);
    let sound = statuses(named)?;
    let none = || Error::Unsupported { job: named.name.clone(), why: "no item has the status ok".into() };
    let item = (0..batch).find(|&item| is_ok(&sound, item)).ok_or_else(none)?;
    let mut unseen = Vec::new();
    for (s, step) in named.plan.steps.iter().enumerate() {
        let altered = Altered::new(&step.kernel).passing_over(item);
        if is_ok(&statuses(&with_step(named, s, with_kernel(step, altered)))?, item) {
            unseen.push(s);
        }
    }
    Ok(unseen)
}

/// Returns copies of the plan, each with one of the defects that can be put into its steps.
///
/// # Errors
/// Errors of building a kernel or making a table.
pub fn injections(named: &NamedPlan, limits: &Limits) -> Result<Vec<Injection>> {
    let mut found = Vec::new();
    for (s, step) in named.plan.steps.iter().enumerate() {
        let name = step.kernel.name();
        let source = step.kernel.source(limits)?;
        let mut add = |what: String, step: Step| -> Result<()> {
            found.push(Injection { what, plan: with_step(named, s, step) });
            Ok(())
        };
        let by_slabs = source.parts().columns.iter().any(Option::is_some);
        for file in texts(name, &source).values() {
            if by_slabs && file.text.contains(SKIPPED) {
                let altered = Altered::new(&step.kernel).with_text(file.name, file.text.replace(SKIPPED, "0"));
                add(format!("{SKIPPED} in {} made 0", file.name), with_kernel(step, altered))?;
            }
            for (line, text) in without_each_barrier(file.text) {
                let altered = Altered::new(&step.kernel).with_text(file.name, text);
                add(format!("{}:{line} deleted", file.name), with_kernel(step, altered))?;
            }
        }
        if source.launch().shared_bytes > 0 {
            let altered = Altered::new(&step.kernel).with_half_shared();
            add(format!("shared memory of {name} halved"), with_kernel(step, altered))?;
        }
        for (port, slot) in step.slots.iter().enumerate() {
            let Slot::Table(table) = slot else { continue };
            for swapped in with_swaps(table)? {
                let mut step = step.clone();
                step.slots[port] = Slot::Table(swapped);
                add(format!("entries of the table at port {port} of {name} swapped"), step)?;
            }
        }
    }
    Ok(found)
}

/// The expression with which kernels read how many blocks of an item a launch skips.
const SKIPPED: &str = "(u32)(end - first >> 32)";

fn with_kernel(step: &Step, kernel: Altered) -> Step {
    Step { kernel: Arc::new(kernel), ..step.clone() }
}

fn with_step(named: &NamedPlan, index: usize, step: Step) -> NamedPlan {
    let mut plan = named.plan.clone();
    plan.steps[index] = step;
    named.clone().with_plan(plan)
}

/// The file name of a kernel's source.
fn source_name(kernel: &str) -> String {
    format!("{kernel}.cu")
}

/// The kernel's source and all headers that it includes, directly or indirectly, by file name. The generated header
/// `prelude.cuh` is left out.
fn texts(kernel: &str, source: &Source) -> BTreeMap<&'static str, Header> {
    let main = Header { name: source_name(kernel).leak(), text: source.cuda_source().to_owned().leak() };
    let mut files = BTreeMap::from([(main.name, main)]);
    let mut open: Vec<&str> = vec![main.text, source.prelude()];
    while let Some(text) = open.pop() {
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("#include \"")?.split('"').next());
        for name in names {
            let header = source.headers().iter().chain(HEADERS).find(|header| header.name == name);
            if let Some(header) = header.filter(|header| !files.contains_key(header.name)) {
                files.insert(header.name, *header);
                open.push(header.text);
            }
        }
    }
    files
}

/// The first characters of calls of barriers in CUDA source.
const BARRIERS: [&str; 8] = [
    "__syncthreads(",
    "__syncwarp(",
    "sync_row<",
    "sync_near<",
    "arrive_at_cluster<",
    "wait_for_cluster<",
    "sync_cluster<",
    "pass_cluster<",
];

/// Copies of a source text, each without one of its barriers, and the line of that barrier, counted from 1.
fn without_each_barrier(text: &str) -> Vec<(usize, String)> {
    let calls = BARRIERS.iter().flat_map(|name| text.match_indices(name));
    let mut found = Vec::new();
    for (start, _) in calls {
        let (before, from) = text.split_at(start);
        let in_comment = before.rsplit('\n').next().is_some_and(|line| line.contains("//"));
        let end = from.find(';');
        if let (false, Some(end)) = (in_comment, end) {
            found.push((before.matches('\n').count() + 1, format!("{before}(void)0{}", &from[end..])));
        }
    }
    found
}

/// Copies of the table, each with two neighbouring, different entries swapped: near its first quarter, its middle and
/// its end. Three positions are used because kernels that share a table read different parts of it. Empty if all
/// entries are equal.
///
/// For a list of tables, copies in which the first table is changed in this way, and one copy with the list in reverse
/// order.
fn with_swaps(table: &Table) -> Result<Vec<Table>> {
    const ENTRY: usize = 8; // bytes of the smallest twiddle factor
    if let Table::List(tables) = table {
        let others = |first: Table| [&[first], &tables[1..]].concat();
        let first = tables.first().map_or(Ok(Vec::new()), with_swaps)?.into_iter().map(others);
        let turned = tables.iter().rev().cloned().collect::<Vec<_>>();
        let differ = tables.len() > 1 && format!("{tables:?}") != format!("{turned:?}");
        return Ok(first.chain(differ.then_some(turned)).map(Table::List).collect());
    }
    let bytes = contents(table)?;
    let pairs = (bytes.len() / ENTRY).saturating_sub(1);
    let entry = |i: usize| &bytes[i * ENTRY..][..ENTRY];
    let differ = |i: &usize| entry(*i) != entry(i + 1);
    let after = |start: usize| (0..pairs).map(|i| (i + start) % pairs).find(differ);
    let places = [after(pairs / 4), after(pairs / 2), (0..pairs).rev().find(differ)];
    let swapped = places.into_iter().flatten().map(|first| {
        let mut bytes = bytes.clone();
        let (left, right) = bytes.split_at_mut((first + 1) * ENTRY);
        left[first * ENTRY..].swap_with_slice(&mut right[..ENTRY]);
        Table::Bytes(bytes.into())
    });
    Ok(swapped.collect())
}

/// The contents of a table, made on the CPU.
fn contents(table: &Table) -> Result<Vec<u8>> {
    Device::cpu().table_bytes(table)
}
