//! Random pipelines compared with an interpreter that computes every value in separate memory.

use core::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use ringforge::factorization::Factorization;
use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Role, Source};
use ringforge::run::CapturedArg;
use ringforge::{Device, Job, Limits, Op, Order, Pipeline, Plan, Planner, PolyType, Result, Value};
use ringforge_testkit::naive;
use ringforge_testkit::{Compiled, Named, NamedPlan, Target, bytes, difference, residues, seed};

/// A kernel that works byte by byte: out = 3·a + b + i, or with `turns`, acc = 5·acc + a + i, where i is the index of
/// the byte in the item. The second input may be shared by all items.
#[derive(Debug, Clone, Copy)]
struct Weave {
    bytes: usize,
    turns: bool,
    shared: bool,
    in_place: bool,
    /// True if the kernel's source supports views.
    views: bool,
    ports: [Port; 3],
    count: usize,
}

impl Weave {
    fn new(bytes: usize, shared: bool, in_place: bool) -> Self {
        let second = if shared { Port::shared(bytes) } else { Port::input(bytes) };
        let ports = [Port::input(bytes), second, Port::output(bytes)];
        Self { bytes, turns: false, shared, in_place, views: false, ports, count: 3 }
    }

    fn turning(bytes: usize) -> Self {
        let ports = [Port::input(bytes), Port::in_out(bytes), Port::output(bytes)];
        Self { bytes, turns: true, shared: false, in_place: false, views: false, ports, count: 2 }
    }

    fn viewing(self, views: bool) -> Self {
        Self { views, ..self }
    }

    fn byte(self, i: usize, a: u8, b: u8) -> u8 {
        let (a, b) = if self.turns { (b.wrapping_mul(5), a) } else { (a.wrapping_mul(3), b) };
        a.wrapping_add(b).wrapping_add(i as u8)
    }

    /// The output for the inputs `a` and `b` of a whole batch.
    fn apply(self, a: &[u8], b: &[u8]) -> Vec<u8> {
        let b = b.iter().cycle();
        a.iter().zip(b).enumerate().map(|(i, (a, b))| self.byte(i % self.bytes, *a, *b)).collect()
    }
}

const SOURCE: &str = "#include \"word.cuh\"\n#include \"prelude.cuh\"\nusing namespace rf;\n\
    #if TURNS\n\
    extern \"C\" __global__ void weave(const u8* a, u8* b, u64 of_a, u64 of_b, u64 first, u64 end) {\n\
    #else\n\
    extern \"C\" __global__ void weave(const u8* a, const u8* b, u8* out, u64 of_a, u64 of_b, u64 of_out, u64 first, u64 end) {\n\
    #endif\n\
        const u64 item = first + (u64)blockIdx.x * blockDim.x + threadIdx.x;\n\
        if (item >= end) return;\n\
        for (u32 i = 0; i < BYTES; i++) {\n\
            const u8 x = a[item * of_a + i];\n\
    #if TURNS\n\
            b[item * of_b + i] = (u8)(b[item * of_b + i] * 5 + x + i);\n\
    #else\n\
            out[item * of_out + i] = (u8)(x * 3 + b[SHARED ? i : item * of_b + i] + i);\n\
    #endif\n\
        }\n\
    }\n";

impl Kernel for Weave {
    fn name(&self) -> &'static str {
        "weave"
    }

    fn ports(&self) -> &[Port] {
        &self.ports[..self.count]
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let (turns, shared) = (u8::from(self.turns), u8::from(self.shared));
        let prelude = format!("#define BYTES {}u\n#define TURNS {turns}\n#define SHARED {shared}\n", self.bytes);
        let strides = self.ports().iter().map(|port| port.stride() as u64).collect();
        // SAFETY: a thread accesses the bytes of its own item, and reads equally many shared bytes.
        Ok(unsafe {
            let source = Source::new(self, SOURCE, &[], Built { prelude, launch: Launch::thread_per_item(32) });
            source.with_numbers(strides)
        })
    }

    fn on_views(&self, _: &[usize], strides: &[usize]) -> Option<Arc<dyn Kernel>> {
        let mut kernel = *self;
        kernel.ports.iter_mut().zip(strides).for_each(|(port, stride)| port.stride = Some(*stride));
        self.views.then(|| Arc::new(kernel) as _)
    }

    fn in_place(&self, input: usize, output: usize) -> bool {
        self.in_place && input < 2 && output == 2
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        if self.turns {
            return args.each(items, |_, (a, b): (&[u8], &mut [u8])| {
                a.iter().zip(b).enumerate().for_each(|(i, (a, b))| *b = self.byte(i, *a, *b));
                Ok(())
            });
        }
        args.each(items, |_, (a, b, out): (&[u8], &[u8], &mut [u8])| {
            out.iter_mut().zip(a.iter().zip(b)).enumerate().for_each(|(i, (out, (a, b)))| *out = self.byte(i, *a, *b));
            Ok(())
        })
    }
}

/// The type of a value: coefficients, evaluations in some order, or bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Coefficients,
    Values(Order),
    Bytes,
}

/// A value of the pipeline, its type, and the interpreter's state for it.
struct Known<'p> {
    value: Value<'p>,
    what: What,
    shared: bool,
    data: Vec<u8>,
    /// The name of the input that this value overwrites, directly or through earlier values; the value can only be
    /// output under this name. `None` if it overwrites no input.
    place: Option<String>,
    input: Option<String>,
    gone: bool,
    /// The numbers of the values whose memory this value may share, including its own number.
    memory: Vec<usize>,
    /// The operation since which the value's memory is in use, and the last operation that reads the value, if
    /// any.
    since: usize,
    read: Option<usize>,
}

/// An operation, and random numbers that select its operands among the values that fit.
type Choice = (u8, [u8; 3]);

struct Maker<'p, 'a> {
    p: &'p Pipeline,
    ring: &'a PolyType,
    factorization: &'a Factorization,
    planner: &'a Planner,
    batch: usize,
    seed: u64,
    known: Vec<Known<'p>>,
    inputs: Named,
    now: usize,
}

impl<'p> Maker<'p, '_> {
    fn content(&self, what: What) -> Option<PolyType> {
        let ring = self.ring.clone();
        match what {
            What::Coefficients => Some(ring),
            What::Values(order) => Some(ring.evaluations_after(self.factorization.depth(), order)),
            What::Bytes => None,
        }
    }

    fn new_input(&mut self, what: What, shared: bool) -> usize {
        let name = format!("in{}", self.inputs.len());
        let value = match self.content(what) {
            Some(content) => self.p.elements(&name, content),
            None if shared => self.p.shared(&name, self.ring.bytes()),
            None => self.p.bytes(&name, self.ring.bytes()),
        };
        let seed = self.seed.wrapping_add(self.inputs.len() as u64);
        let data = match what {
            What::Bytes => bytes(seed, self.ring.bytes() * if shared { 1 } else { self.batch }),
            _ => residues(self.ring, seed, self.batch),
        };
        self.inputs.insert(name.clone(), data.clone());
        let known = Known {
            value,
            what,
            shared,
            data,
            place: None,
            input: Some(name),
            gone: false,
            memory: vec![self.known.len()],
            since: 0,
            read: None,
        };
        self.known.push(known);
        self.known.len() - 1
    }

    /// The number of a random value whose type `what` accepts, shared by all items exactly if `shared`, but none of the
    /// numbers in `but`. If there is no such value, and sometimes otherwise, that of a new input of type `or`. Marks
    /// the value as read.
    fn operand(&mut self, what: impl Fn(What) -> bool, or: What, shared: bool, pick: u8, but: &[usize]) -> usize {
        let fits = |(i, known): &(usize, &Known<'_>)| {
            let whole = known.data.len() == self.ring.bytes() * if shared { 1 } else { self.batch };
            what(known.what) && known.shared == shared && !known.gone && whole && !but.contains(i)
        };
        let all: Vec<usize> = self.known.iter().enumerate().filter(fits).map(|(i, _)| i).collect();
        let i = match all.len() {
            0 => self.new_input(or, shared),
            _ if pick.is_multiple_of(8) => self.new_input(or, shared),
            count => all[usize::from(pick) % count],
        };
        self.read(i);
        i
    }

    /// Records that value `i` is read, and with it all values that may share its memory.
    fn read(&mut self, i: usize) {
        for k in self.sharing(i) {
            self.known[k].read = Some(self.now);
        }
    }

    /// The numbers of the values that may share memory with value `i`.
    fn sharing(&self, i: usize) -> Vec<usize> {
        let memory = &self.known[i].memory;
        let shares = |known: &Known<'_>| known.memory.iter().any(|place| memory.contains(place));
        (0..self.known.len()).filter(|&k| shares(&self.known[k])).collect()
    }

    fn push(&mut self, value: Value<'p>, what: What, data: Vec<u8>) {
        self.push_over(value, what, data, (None, self.now));
    }

    /// Adds a value. If it overwrites another value, `place` and `since` are those that `replace` returned.
    fn push_over(&mut self, value: Value<'p>, what: What, data: Vec<u8>, (place, since): (Option<String>, usize)) {
        let known = Known {
            value,
            what,
            shared: false,
            data,
            place,
            input: None,
            gone: false,
            memory: vec![self.known.len()],
            since,
            read: None,
        };
        self.known.push(known);
    }

    /// Marks value `old` and all values that share its memory as overwritten. Returns the input name and the start of
    /// use that the new value inherits.
    fn replace(&mut self, old: usize) -> (Option<String>, usize) {
        self.sharing(old).into_iter().for_each(|i| self.known[i].gone = true);
        let known = &self.known[old];
        (known.place.clone().or_else(|| known.input.clone()), known.since)
    }

    fn plain(&self, i: usize) -> Vec<ringforge::U256> {
        naive::to_plain(self.ring, &self.known[i].data)
    }

    fn make(&mut self, (op, picks): Choice) {
        self.now += 1;
        let (ring, factorization, width) = (self.ring, self.factorization, self.ring.bytes());
        let is = |wanted: What| move |what: What| what == wanted;
        let any = |_: What| true;
        let order = if picks[2] % 2 == 0 { Order::DigitReversed } else { Order::Natural };
        let stored = |plain: Vec<ringforge::U256>| naive::to_stored(ring, &plain);
        match op % 17 {
            0 => {
                let a = self.operand(is(What::Coefficients), What::Coefficients, false, picks[0], &[]);
                let data = stored(naive::forward(ring, factorization, order, &self.plain(a)));
                self.push(self.known[a].value.forward_to(order), What::Values(order), data);
            }
            1 => {
                // evaluations come only from transforms of coefficients, never from random residues
                let a = self.operand(is(What::Coefficients), What::Coefficients, false, picks[0], &[]);
                let data = self.known[a].data.clone();
                let there = self.known[a].value.forward_to(order);
                self.push(there.inverse(), What::Coefficients, data);
            }
            2 => {
                let [a, b] =
                    [0, 1].map(|i| self.operand(is(What::Coefficients), What::Coefficients, false, picks[i], &[]));
                let data = stored(naive::mul(ring, &self.plain(a), &self.plain(b)));
                self.push(self.known[a].value * self.known[b].value, What::Coefficients, data);
            }
            3 | 4 => {
                let values = What::Values(order);
                let [a, b] = [0, 1].map(|i| self.operand(is(values), values, false, picks[i], &[]));
                let product = naive::point_mul(ring, factorization, order, &self.plain(a), &self.plain(b));
                if op % 17 == 3 {
                    self.push(self.known[a].value * self.known[b].value, values, stored(product));
                } else {
                    let sum = self.operand(is(values), values, false, picks[2] / 2, &self.but(&[a, b]));
                    let data = stored(naive::add(ring, &product, &self.plain(sum)));
                    let value = self.known[a].value.mul_add(self.known[b].value, self.known[sum].value);
                    let place = self.replace(sum);
                    self.push_over(value, values, data, place);
                }
            }
            5 | 6 => {
                let shared = op % 17 == 6;
                let a = self.operand(any, What::Bytes, false, picks[0], &[]);
                let b = self.operand(
                    if shared { is(What::Bytes) } else { is(self.known[a].what) },
                    What::Bytes,
                    shared,
                    picks[1],
                    &[],
                );
                let kernel = Weave::new(width, shared, picks[2] % 2 == 0);
                let data = kernel.apply(&self.known[a].data, &self.known[b].data);
                let [value] = self.p.step(kernel, &[self.known[a].value, self.known[b].value]);
                self.push(value, What::Bytes, data);
            }
            7 => {
                let a = self.operand(any, What::Bytes, false, picks[0], &[]);
                let b = self.operand(is(What::Bytes), What::Bytes, false, picks[1], &self.but(&[a]));
                let kernel = Weave::turning(width);
                let data = kernel.apply(&self.known[a].data, &self.known[b].data);
                let [value] = self.p.step(kernel, &[self.known[a].value, self.known[b].value]);
                let place = self.replace(b);
                self.push_over(value, What::Bytes, data, place);
            }
            8 => {
                // a step whose inputs are shared by all items, so that it runs once
                let [a, b] = [0, 1].map(|i| self.operand(is(What::Bytes), What::Bytes, true, picks[i], &[]));
                let kernel = Weave::new(width, false, picks[2] % 2 == 0);
                let data = kernel.apply(&self.known[a].data, &self.known[b].data);
                let [value] = self.p.step(kernel, &[self.known[a].value, self.known[b].value]);
                self.push(value, What::Bytes, data);
                self.known.last_mut().expect("it was pushed").shared = true;
            }
            9 => {
                // a step with one shared input and one input with separate bytes for each item
                let a = self.operand(any, What::Bytes, false, picks[0], &[]);
                let b = self.operand(is(What::Bytes), What::Bytes, true, picks[1], &[]);
                let kernel = Weave::new(width, false, picks[2] % 2 == 0).viewing(picks[2].is_multiple_of(3));
                let data = kernel.apply(&self.known[a].data, &self.known[b].data);
                let [value] = self.p.step(kernel, &[self.known[a].value, self.known[b].value]);
                self.push(value, What::Bytes, data);
            }
            10 => {
                // a step on parts of one value or of two values
                let a = self.operand(any, What::Bytes, false, picks[0], &[]);
                let b = self.operand(any, What::Bytes, false, picks[1], &[]);
                let half = width / 2;
                let kernel = Weave::new(half, false, true).viewing(picks[2] % 2 == 0);
                let parts = [(a, 0..half), (b, half..2 * half)];
                let [x, y] = parts.clone().map(|(i, part)| self.known[i].value.part(part));
                let [data_x, data_y] = parts.map(|(i, part)| items(&self.known[i].data, width, part));
                let [value] = self.p.step(kernel, &[x, y]);
                self.push_over(value, What::Bytes, kernel.apply(&data_x, &data_y), (None, 0));
            }
            11 => {
                // a step that overwrites one half of a value while it reads the other half
                let a = self.operand(any, What::Bytes, false, picks[0], &[]);
                let (half, kernel) = (width / 2, Weave::new(width, false, picks[1] % 2 == 0));
                let data = kernel.apply(&self.known[a].data, &self.known[a].data);
                let [value] = self.p.step(kernel, &[self.known[a].value; 2]);
                let kernel = Weave::turning(half).viewing(picks[2] % 2 == 0);
                let parts = [half..2 * half, 0..half];
                let [data_x, data_y] = parts.clone().map(|part| items(&data, width, part));
                let [value] = self.p.step(kernel, &parts.map(|part| value.part(part)));
                self.push_over(value, What::Bytes, kernel.apply(&data_x, &data_y), (None, 0));
            }
            12 => self.join(picks, order),
            13 | 14 => {
                // sums, differences and multiples
                let what = if picks[2].is_multiple_of(3) { What::Values(order) } else { What::Coefficients };
                let a = self.operand(is(what), what, false, picks[0], &[]);
                let b = if op % 17 == 13 { self.operand(is(what), what, false, picks[1], &[]) } else { a };
                let (x, y) = (self.known[a].value, self.known[b].value);
                let number = ringforge::U256::from(u64::MAX - u64::from(picks[2]));
                let (left, right) = (self.plain(a), self.plain(b));
                let (value, plain) = match (op % 17, picks[2] / 3 % 2) {
                    (13, 0) => (x + y, naive::add(ring, &left, &right)),
                    (13, _) => (x - y, naive::add(ring, &left, &naive::negate(ring, &right))),
                    (_, 0) => (-x, naive::negate(ring, &left)),
                    _ => (x.scale(&[number]), naive::scale(ring, &left, &vec![number; ring.basis().len()])),
                };
                self.push(value, what, stored(plain));
            }
            15 => {
                // one digit of a gadget decomposition
                let a = self.operand(is(What::Coefficients), What::Coefficients, false, picks[0], &[]);
                let (limbs, bits) = (ring.basis().len(), 1 + u32::from(picks[1]) % 63);
                let longest = ring.basis().iter().map(ringforge::Modulus::bits).max().unwrap_or(0);
                let count = longest.div_ceil(bits) as usize;
                let (digits, i) = (limbs * count, usize::from(picks[2]) % (limbs * count));
                let all = stored(naive::digits(ring, bits, count, ring, &self.plain(a)));
                let value = self.known[a].value.digits(bits, ring).limbs(i * limbs..(i + 1) * limbs);
                let data = items(&all, digits * width, i * width..(i + 1) * width);
                self.push_over(value, What::Coefficients, data, (None, 0));
            }
            _ => {
                // a separate plan, added to the pipeline
                let a = self.operand(is(What::Coefficients), What::Coefficients, false, picks[0], &[]);
                let job = Job::new(ring, Op::Inverse).order(order).in_place();
                let p = self.planner.pipeline("square");
                let x = p.coefficients("x", ring).forward_to(order);
                p.output("square", p.job(&job, &[x * x]));
                let plan = p.build().expect("a plan");
                let data = stored(naive::mul(ring, &self.plain(a), &self.plain(a)));
                let [value] = self.p.plan(&plan, &[self.known[a].value]);
                self.push(value, What::Coefficients, data);
            }
        }
    }

    /// Concatenates limbs of two values. The limbs of the first are used unchanged, or after an operation.
    fn join(&mut self, picks: [u8; 3], order: Order) {
        let (ring, limbs) = (self.ring, self.ring.basis().len());
        if limbs == 1 {
            return;
        }
        let what = if picks[2].is_multiple_of(3) { What::Values(order) } else { What::Coefficients };
        let [a, b] = [0, 1].map(|i| self.operand(|other| other == what, what, false, picks[i], &[]));
        let left = 1 + usize::from(picks[2] / 6) % (limbs - 1);
        let (content, limb) = (self.content(what).expect("elements"), ring.bytes() / limbs);
        let [x, y] = [self.known[a].value.limbs(0..left), self.known[b].value.limbs(left..limbs)];
        let part = |i: usize| naive::to_plain(ring, &self.known[i].data);
        let square = || naive::mul(ring, &part(a), &part(a));
        let (x, data) = match (what, picks[2] / 3 % 3) {
            (What::Coefficients, 0) => (x * x, naive::to_stored(ring, &square())),
            (What::Coefficients, 1) => {
                // a value that is updated in place, and then concatenated
                let [y, sum] = [(); 2].map(|()| x.forward_to(order));
                (y.mul_add(y, sum).inverse(), naive::to_stored(ring, &naive::add(ring, &square(), &part(a))))
            }
            (What::Coefficients, _) => (x.forward_to(order).inverse(), self.known[a].data.clone()),
            _ => (x, self.known[a].data.clone()),
        };
        let mut joined = self.known[b].data.clone();
        for (to, from) in joined.chunks_exact_mut(ring.bytes()).zip(data.chunks_exact(ring.bytes())) {
            to[..left * limb].copy_from_slice(&from[..left * limb]);
        }
        // if both parts come from one value, the concatenated value may be that value
        let memory = if what == What::Coefficients { Vec::new() } else { self.known[a].memory.clone() };
        let value = self.p.join(content, &[x, y]);
        self.push_over(value, what, joined, (None, 0));
        self.known.last_mut().expect("it was pushed").memory.extend(memory);
    }

    /// The numbers of the values that an operand must not be: `these`, values that share memory with them, and all
    /// other values whose memory is shared.
    fn but(&self, these: &[usize]) -> Vec<usize> {
        let shares = |i: &usize| self.sharing(*i).len() > 1;
        let others = these.iter().flat_map(|&i| self.sharing(i));
        (0..self.known.len()).filter(shares).chain(others).collect()
    }

    /// Outputs the values that must be output, those that no step reads, and some others, sometimes under the name of
    /// an input. Returns the expected contents of the outputs.
    fn outputs(&mut self) -> Named {
        let mut expected = Named::new();
        let mut free: Vec<(String, usize)> = Vec::new();
        for (i, known) in self.known.iter().enumerate().filter(|(_, known)| !known.gone && !known.shared) {
            if self.sharing(i).len() > 1 {
                continue;
            }
            if let (Some(name), Some(read)) = (&known.input, known.read) {
                free.push((name.clone(), read));
            }
        }
        let all = self.known.iter().filter(|known| !known.gone && known.input.is_none() && !known.shared).enumerate();
        for (i, known) in all {
            let place =
                free.iter().position(|(_, read)| *read < known.since).filter(|_| (self.seed >> i).is_multiple_of(2));
            let name = match (&known.place, place) {
                (Some(name), _) => name.clone(),
                (None, Some(place)) => free.swap_remove(place).0,
                (None, None) if known.read.is_none() || (self.seed >> i).is_multiple_of(3) => format!("out{i}"),
                _ => continue,
            };
            self.p.output(&name, known.value);
            expected.insert(name, known.data.clone());
        }
        expected
    }
}

/// A plan of random operations, the contents of its inputs, and its expected outputs.
fn random(
    ring: &PolyType,
    limits: &Limits,
    choices: &[Choice],
    batch: usize,
    seed: u64,
) -> Result<(Plan, Named, Named)> {
    let (planner, factorization) = (Planner::new(limits.clone()), Factorization::of(ring, None)?);
    let p = planner.pipeline("random");
    let mut maker = Maker {
        p: &p,
        ring,
        factorization: &factorization,
        planner: &planner,
        batch,
        seed,
        known: Vec::new(),
        inputs: Named::new(),
        now: 0,
    };
    choices.iter().for_each(|choice| maker.make(*choice));
    let expected = maker.outputs();
    let inputs = core::mem::take(&mut maker.inputs);
    drop(maker);
    Ok((p.build()?, inputs, expected))
}

/// The bytes `bytes` of each item; items have `width` bytes.
fn items(data: &[u8], width: usize, bytes: Range<usize>) -> Vec<u8> {
    data.chunks_exact(width).flat_map(|item| item[bytes.clone()].to_vec()).collect()
}

/// The outputs of one replay of a captured run of the plan.
fn captured(plan: &Plan, device: &Device, batch: usize, inputs: &Named) -> Result<Named> {
    let (program, stream) = (device.compile(plan)?, device.stream()?);
    let mut args: Vec<(&str, CapturedArg)> = Vec::new();
    for arg in plan.args() {
        let buffer = match inputs.get(&arg.name) {
            Some(bytes) => stream.upload(bytes)?,
            None => device.buffer(arg.bytes * batch)?,
        };
        args.push((&arg.name, buffer.into()));
    }
    let mut captured = program.capture(&stream, batch, args)?;
    captured.run()?;
    let outputs = plan.args().iter().filter(|arg| arg.role != Role::In);
    let bytes = |name: &str| stream.download(captured.buffer(name).expect("an argument"));
    outputs.map(|arg| Ok((arg.name.clone(), bytes(&arg.name)?))).collect()
}

fn check(device: &Device, limits: &Limits, rings: &[PolyType], cases: u32, steps: usize) {
    let choice = (any::<u8>(), any::<[u8; 3]>());
    let strategy = (
        0..rings.len(),
        proptest::collection::vec(choice, 1..=steps),
        prop::sample::select(vec![1usize, 2, 7]),
        any::<u64>(),
    );
    let mut random_seed = [0; 32];
    random_seed[..8].copy_from_slice(&seed().to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &random_seed);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new_with_rng(config, rng).run(&strategy, |(ring, choices, batch, seed)| {
        let (plan, inputs, expected) = random(&rings[ring], limits, &choices, batch, seed)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let named = NamedPlan::new("random", plan);
        let found = Compiled::new(&named, device)
            .and_then(|compiled| compiled.run(batch, &inputs))
            .map_err(|error| TestCaseError::fail(format!("{error}\n{}", named.plan)))?;
        // a captured run executes independent steps concurrently
        let replayed =
            captured(&named.plan, device, batch, &inputs).map_err(|error| TestCaseError::fail(error.to_string()))?;
        for found in [found, replayed] {
            let wrong = difference(&named.plan, &expected, &found);
            prop_assert!(wrong.is_none(), "{}\n{}", wrong.unwrap_or_default(), named.plan);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("on {device}: {error}"));
}

fn rings() -> Vec<PolyType> {
    [
        "17:x^4+1",
        "3329:x^256+1",
        "998244353:x^16+1",
        "2013265921:x^8+1",
        "1004535809,998244353,469762049:x^8+1",
        "18446744069414584321:x^8+1",
    ]
    .map(|ring| ring.parse().expect("a ring"))
    .to_vec()
}

#[test]
fn on_the_cpu() {
    check(&Device::cpu(), &Limits::cpu(), &rings(), 400, 24);
}

/// Plans for a GPU have in-place steps, which plans for a CPU do not. They are run on the CPU here.
#[test]
fn plans_for_a_gpu_on_the_cpu() {
    check(&Device::cpu(), &Limits::h200(), &rings(), 400, 24);
}

#[test]
fn on_the_emulator() {
    // few kernels, because each kernel is compiled
    let Some(device) = Target::Emulator.device() else { return };
    check(&device, device.limits(), &[rings()[0].clone(), rings()[3].clone()], 60, 16);
}

#[test]
fn on_a_gpu() {
    let Some(device) = Target::Cuda.device() else { return };
    check(&device, device.limits(), &rings(), 300, 24);
}
