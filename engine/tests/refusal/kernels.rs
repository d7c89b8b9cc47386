//! Kernels for the tests of errors: correct kernels with any ports, and broken ones.

use core::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ringforge::kernels::{Args, Built, Kernel, Launch, Port, Role, Source, Table};
use ringforge::{Limits, Result};

/// A kernel that fills its outputs with a byte, and misbehaves on the CPU as `misuse` says.
#[derive(Debug, Clone)]
pub(crate) struct Fake {
    pub(crate) ports: Vec<Port>,
    pub(crate) text: &'static str,
    pub(crate) misuse: Misuse,
    pub(crate) in_place: bool,
    /// The table of the kernel's first port, if this port has one.
    pub(crate) table: Option<Table>,
}

/// How a broken kernel misbehaves on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misuse {
    Nothing,
    /// Takes a port that does not exist as an input.
    NoSuchPort,
    /// Takes its output as an input.
    OutputAsInput,
    /// Takes its input as an output.
    InputAsOutput,
    /// Takes its output twice.
    Twice,
    /// Takes its output as elements larger than the port.
    Elements,
    /// Transforms its input into an output of another length.
    Lengths,
    /// Nothing wrong: reverses its input, which it takes before its output.
    InputFirst,
    /// Nothing wrong: reverses its input, which it takes after its output.
    OutputFirst,
}

const SOURCE: &str = "\
extern \"C\" __global__ void fake(const unsigned char* in, unsigned char* out, unsigned long long first,
                                unsigned long long end) {
    for (unsigned long long i = 4 * first; i < 4 * end; i++) out[i] = 7;
}
";

impl Fake {
    pub(crate) fn new(ports: &[Port]) -> Self {
        Self { ports: ports.to_vec(), text: SOURCE, misuse: Misuse::Nothing, in_place: false, table: None }
    }

    /// A kernel from four bytes to four bytes that is broken in this way.
    pub(crate) fn broken(misuse: Misuse) -> Self {
        Self { misuse, ..Self::new(&[Port::input(4), Port::output(4)]) }
    }
}

impl Kernel for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, _: &Limits) -> Result<Source> {
        let launch = Launch { items_per_block: 1 << 20, ..Launch::thread_per_item(1) };
        let built = Built { prelude: String::new(), launch };
        // SAFETY: runs only on the emulator, which checks what the source does.
        Ok(unsafe { Source::new(self, self.text, &[], built) })
    }

    fn in_place(&self, _: usize, _: usize) -> bool {
        self.in_place
    }

    fn table(&self, port: usize) -> Option<Table> {
        self.table.clone().filter(|_| port == 0)
    }

    fn on_cpu(&self, _: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        match self.misuse {
            Misuse::NoSuchPort => _ = args.input::<u8>(2)?,
            Misuse::OutputAsInput => _ = args.input::<u8>(1)?,
            Misuse::InputAsOutput => _ = args.output::<u8>(0)?,
            Misuse::Twice => {
                args.output::<u8>(1)?;
                args.output::<u8>(1)?;
            }
            Misuse::Elements => _ = args.output::<[u64; 4]>(1)?,
            Misuse::Lengths => _ = args.transform::<u8>(0, 1)?,
            Misuse::InputFirst | Misuse::OutputFirst => {
                let (input, output) = if self.misuse == Misuse::InputFirst {
                    let input = args.input::<u8>(0)?;
                    (input, args.output::<u8>(1)?)
                } else {
                    let output = args.output::<u8>(1)?;
                    (args.input::<u8>(0)?, output)
                };
                output.iter_mut().zip(input.iter().rev()).for_each(|(to, from)| *to = *from);
                return Ok(());
            }
            Misuse::Nothing => {}
        }
        for (i, port) in self.ports.iter().enumerate() {
            if port.role != Role::In {
                args.output::<u8>(i)?.fill(7);
            }
        }
        Ok(())
    }
}

/// A kernel with the source and the CPU reference of another kernel, but with different ports.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) of: Fake,
    pub(crate) ports: Vec<Port>,
}

impl Kernel for Lent {
    fn name(&self) -> &str {
        self.of.name()
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        self.of.source(limits)
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        self.of.on_cpu(items, args)
    }
}

/// A kernel whose ports change when `changed` is set.
#[derive(Debug, Clone)]
pub(crate) struct Fickle {
    pub(crate) before: Fake,
    pub(crate) after: Vec<Port>,
    pub(crate) changed: Arc<AtomicBool>,
}

impl Kernel for Fickle {
    fn name(&self) -> &str {
        self.before.name()
    }

    fn ports(&self) -> &[Port] {
        if self.changed.load(Ordering::SeqCst) { &self.after } else { &self.before.ports }
    }

    fn source(&self, limits: &Limits) -> Result<Source> {
        self.before.source(limits)
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        self.before.on_cpu(items, args)
    }
}
