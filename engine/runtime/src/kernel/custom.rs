//! Kernels made from data and two closures, so that a scheme need not define a type for each kernel.

use core::fmt;
use core::ops::Range;
use std::borrow::Cow;

use ringforge_kernels::Header;

use crate::kernel::{Built, Source, Table};
use crate::limits::Limits;
use ringforge_math::error::Result;

use super::{Args, Kernel, Port};

type Build = dyn Fn(&Limits) -> Result<Built> + Send + Sync;
type OnCpu = dyn Fn(Range<usize>, &mut Args<'_>) -> Result<()> + Send + Sync;

/// A [`Kernel`] made from data and two closures, for code with many kernels that differ only in their data.
///
/// ```
/// use ringforge::Engine;
/// use ringforge::kernels::{Built, CustomKernel, Port};
///
/// const SOURCE: &str = r#"
/// #include "prelude.cuh"
/// extern "C" __global__ void add_to_bytes(const rf::u8* in, rf::u8* out, rf::u64 first, rf::u64 end) {
///     rf::u64 item = first + blockIdx.x * (rf::u64)blockDim.x + threadIdx.x;
///     if (item < end) out[item] = in[item] + Task::addend;
/// }"#;
///
/// // SAFETY: each thread reads and writes the byte of its own item.
/// # #[allow(unsafe_code)]
/// let kernel = unsafe {
///     CustomKernel::new(
///         ("add_to_bytes", SOURCE, &[]),
///         [Port::input(1), Port::output(1)],
///         |_| Ok(Built::thread_per_item(128).constants("Task", &[("addend", &5)])),
///         |items, args| {
///             args.each(items, |_, (from, to): (&u8, &mut u8)| {
///                 *to = from.wrapping_add(5);
///                 Ok(())
///             })
///         },
///     )
/// };
///
/// let engine = Engine::cpu();
/// let p = engine.pipeline("bytes");
/// let [sums] = p.step(kernel.described("5"), &[p.input("bytes")]);
/// p.output("sums", sums);
/// let mut sums = [0u8; 3];
/// let program = engine.compile(p)?;
/// program.on_host(3).input("bytes", &[1u8, 2, 255]).output("sums", &mut sums).run()?;
/// assert_eq!(sums, [6, 7, 4]);
/// # Ok::<(), ringforge::Error>(())
/// ```
pub struct CustomKernel {
    name: Cow<'static, str>,
    text: Cow<'static, str>,
    headers: &'static [Header],
    ports: Vec<Port>,
    tables: Vec<(usize, Table)>,
    numbers: Vec<u64>,
    build: Box<Build>,
    on_cpu: Box<OnCpu>,
    description: String,
}

impl CustomKernel {
    /// A kernel with this name, CUDA source, headers and ports. `build` returns the contents of the header
    /// `prelude.cuh` and the launch configuration, for a device's limits. `on_cpu` is the CPU reference.
    ///
    /// # Safety
    /// The contract of [`Source::new`] must hold for the CUDA source, the headers, the ports, and what `build` returns
    /// for any limits.
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn new(
        (name, text, headers): (impl Into<Cow<'static, str>>, impl Into<Cow<'static, str>>, &'static [Header]),
        ports: impl Into<Vec<Port>>,
        build: impl Fn(&Limits) -> Result<Built> + Send + Sync + 'static,
        on_cpu: impl Fn(Range<usize>, &mut Args<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        let (ports, build, on_cpu) = (ports.into(), Box::new(build), Box::new(on_cpu));
        let (tables, numbers, description) = (Vec::new(), Vec::new(), String::new());
        Self { name: name.into(), text: text.into(), headers, ports, tables, numbers, build, on_cpu, description }
    }

    /// The same kernel, with these 64-bit run-time constants as parameters after its pointers.
    ///
    /// # Safety
    /// The contract of [`Source::with_numbers`] must hold for these constants.
    #[must_use]
    #[allow(unsafe_code)]
    pub unsafe fn with_numbers(self, numbers: impl Into<Vec<u64>>) -> Self {
        Self { numbers: numbers.into(), ..self }
    }

    /// The same kernel, which itself provides a [table](Kernel::table) at this port, a shared input.
    #[must_use]
    pub fn with_table(mut self, port: usize, table: Table) -> Self {
        self.tables.push((port, table));
        self
    }

    /// The same kernel, with one more shared input for each of these [tables](Kernel::table). The new ports come after
    /// the existing ones, and the kernel itself provides their tables.
    #[must_use]
    pub fn with_tables(self, tables: impl IntoIterator<Item = Table>) -> Self {
        tables.into_iter().fold(self, |mut kernel, table| {
            kernel.ports.push(Port::shared(table.bytes()));
            let last = kernel.ports.len() - 1;
            kernel.with_table(last, table)
        })
    }

    /// The same kernel, with this description for printed plans. If the kernel computes a [`Table`], the description
    /// must name every parameter that affects the contents, because tables are cached under the description.
    #[must_use]
    pub fn described(self, description: impl Into<String>) -> Self {
        Self { description: description.into(), ..self }
    }
}

impl Kernel for CustomKernel {
    fn name(&self) -> &str {
        &self.name
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    #[allow(unsafe_code)]
    fn source(&self, limits: &Limits) -> Result<Source> {
        let built = (self.build)(limits)?;
        // SAFETY: the callers of `CustomKernel::new` and `with_numbers` guarantee the contract of the source.
        Ok(unsafe { Source::new(self, self.text.clone(), self.headers, built).with_numbers(self.numbers.clone()) })
    }

    fn table(&self, port: usize) -> Option<Table> {
        self.tables.iter().find(|(own, _)| *own == port).map(|(_, table)| table.clone())
    }

    fn on_cpu(&self, items: Range<usize>, args: &mut Args<'_>) -> Result<()> {
        (self.on_cpu)(items, args)
    }

    fn describe(&self) -> String {
        self.description.clone()
    }
}

impl fmt::Debug for CustomKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}), {:?}", self.name, self.description, self.ports)
    }
}
