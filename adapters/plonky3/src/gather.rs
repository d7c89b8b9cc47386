//! Gathers rows of a matrix, and digests of a tree, on the device.

use ringforge::kernels::{Args, Built, CustomKernel, Launch, Port};
use ringforge::{Buffer, Engine, Error, Plan, Planner, Result, Stream};

use crate::field::{EngineField, elements};
use crate::layout::Layout;

/// Copies the rows with the indices `numbers` to the host, contiguously and in this order. Each index must be below
/// `rows`.
///
/// # Errors
/// Errors of the device.
pub(crate) fn gather<F: EngineField>(
    engine: &Engine,
    stream: &Stream,
    from: &Buffer,
    (layout, rows, columns): (Layout, usize, usize),
    numbers: &[usize],
) -> Result<Vec<F>> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let key = ("gather", size_of::<F>(), layout, rows, columns);
    let program = engine.program_of(&key, |planner| plan::<F>(planner, layout, rows, columns))?;
    let numbers: Vec<u64> = numbers.iter().map(|&number| number as u64).collect();
    let mut to = engine.device().buffer(numbers.len() * columns * size_of::<F>())?;
    let call = program.on(stream, numbers.len()).input("from", from);
    let numbers = stream.upload(&numbers)?;
    call.input("numbers", &numbers).output("to", &mut to).run()?;
    Ok(elements(&stream.download::<F::Word>(&to)?).to_vec())
}

/// The most layers of a tree, and so of [`gather_digests`].
const LAYERS: usize = 33;

/// Copies the digests with these layers and indices to the host, contiguously and in this order. Each layer and each index
/// in it must exist. `digest` is the number of elements of a digest.
///
/// # Errors
/// [`Error::TooLarge`] for more layers than trees of the fields have; errors of the device.
pub(crate) fn gather_digests<F: EngineField>(
    engine: &Engine,
    stream: &Stream,
    layers: &[Buffer],
    digest: usize,
    places: &[(usize, usize)],
) -> Result<Vec<F>> {
    let Some(leaves) = layers.first().filter(|_| !places.is_empty()) else { return Ok(Vec::new()) };
    if layers.len() > LAYERS {
        return Err(Error::TooLarge { what: "the layers of a tree", limit: LAYERS, got: layers.len() });
    }
    let counts: Vec<usize> = layers.iter().map(|layer| layer.len() / (digest * size_of::<F>())).collect();
    let key = ("gather digests", size_of::<F>(), digest, counts.clone());
    let program = engine.program_of(&key, |planner| plan_of_digests::<F>(planner, &counts, digest))?;
    let places: Vec<[u32; 2]> = places.iter().map(|&(layer, index)| [layer as u32, index as u32]).collect();
    let mut to = engine.device().buffer(places.len() * digest * size_of::<F>())?;
    let count = places.len();
    let places = stream.upload(&places)?;
    let mut call = program.on(stream, count).input("places", &places);
    for (name, layer) in names().iter().zip(layers.iter().chain(core::iter::repeat(leaves))) {
        call = call.input(name, layer);
    }
    call.output("to", &mut to).run()?;
    Ok(elements(&stream.download::<F::Word>(&to)?).to_vec())
}

/// The names of the layers' arguments.
fn names() -> [String; LAYERS] {
    core::array::from_fn(|layer| format!("layer {layer}"))
}

/// The plan that copies digests of layers with these numbers of digests to the port `to`. Each item is one digest. Its
/// layer and index, at the port `places`, are limited to those that exist.
fn plan_of_digests<F: EngineField>(planner: &Planner, counts: &[usize], digest: usize) -> Result<Plan> {
    let word = size_of::<F>();
    // further layers are the leaves again
    let counts: [usize; LAYERS] = core::array::from_fn(|layer| counts.get(layer).copied().unwrap_or(counts[0]));
    let on_cpu = move |items: core::ops::Range<usize>, args: &mut Args<'_>| {
        let places: &[[u32; 2]] = args.input(LAYERS)?;
        let layers = (0..LAYERS).map(|layer| args.input(layer)).collect::<Result<Vec<&[F::Word]>>>()?;
        let to: &mut [F::Word] = args.output(LAYERS + 1)?;
        for (to, [layer, index]) in to.chunks_exact_mut(digest).zip(&places[..items.len()]) {
            let layer = (*layer as usize).min(LAYERS - 1);
            let index = (*index as usize).min(counts[layer] - 1);
            to.copy_from_slice(&layers[layer][index * digest..(index + 1) * digest]);
        }
        Ok(())
    };
    let pointers: Vec<String> = (0..LAYERS).map(|layer| format!("l{layer}")).collect();
    let parameters: Vec<String> = pointers.iter().map(|name| format!("const Word* {name}")).collect();
    let sizes: Vec<String> = (0..LAYERS).map(|layer| format!("u64 n{layer}")).collect();
    let prelude = format!(
        "#pragma once\n#include \"word.cuh\"\nusing Word = rf::u{};\n#define LAYERS {}\n#define COUNTS {}\n\
         #define LAYER_PARAMETERS {}\n#define COUNT_PARAMETERS {}\n",
        8 * word,
        pointers.join(", "),
        (0..LAYERS).map(|layer| format!("n{layer}")).collect::<Vec<_>>().join(", "),
        parameters.join(", "),
        sizes.join(", "),
    );
    let threads = 128;
    let build =
        move |_: &ringforge::Limits| Ok(Built { prelude: prelude.clone(), launch: Launch::thread_per_item(threads) });
    let mut ports: Vec<Port> = counts.iter().map(|count| Port::shared(count * digest * word)).collect();
    ports.extend([Port::input(size_of::<[u32; 2]>()), Port::output(digest * word)]);
    let text = ("gather_digests", include_str!("kernels/gather_digests.cu"), &[][..]);
    let numbers: Vec<u64> = counts.iter().map(|count| *count as u64).chain([digest as u64]).collect();
    // SAFETY: a thread reads a digest within a layer, and writes its own digest.
    #[allow(unsafe_code)]
    let kernel = unsafe { CustomKernel::new(text, ports, build, on_cpu).with_numbers(numbers) };
    let p = planner.pipeline("digests of a tree");
    let mut inputs: Vec<_> = names().iter().map(|name| p.input(name)).collect();
    inputs.push(p.input("places"));
    let [to] = p.step(kernel.described(format!("{counts:?} of {digest} words of {word} bytes")), &inputs);
    p.output("to", to);
    p.build()
}

/// The plan that copies rows of the matrix at the port `from`, which all items share, to the port `to`. Each item is
/// one row. Its index, at the port `numbers`, is taken modulo `rows`.
pub(crate) fn plan<F: EngineField>(planner: &Planner, layout: Layout, rows: usize, columns: usize) -> Result<Plan> {
    let word = size_of::<F>();
    let [to_row, to_column] = layout.strides(columns);
    let on_cpu = move |items, args: &mut Args<'_>| {
        args.each(items, |_, (from, number, to): (&[F::Word], &u64, &mut [F::Word])| {
            let row = (number % rows as u64) as usize;
            for (column, to) in to.iter_mut().enumerate() {
                *to = from[row * to_row + column * to_column];
            }
            Ok(())
        })
    };
    // the elements of a row may be strided, so all threads of a block read one row in parallel
    let threads = columns.next_multiple_of(32).min(256) as u32;
    let prelude = format!("#pragma once\n#include \"word.cuh\"\nusing Word = rf::u{};\n", 8 * word);
    let launch = Launch { items_per_block: 1, ..Launch::thread_per_item(threads) };
    let build = move |_: &ringforge::Limits| Ok(Built { prelude: prelude.clone(), launch });
    let text = ("gather", include_str!("kernels/gather.cu"), &[][..]);
    let ports = [
        Port::shared(layout.elements(rows, columns) * word),
        Port::input(size_of::<u64>()),
        Port::output(columns * word),
    ];
    // SAFETY: a block reads a row within the matrix, and writes the output row of its own item.
    #[allow(unsafe_code)]
    let kernel = unsafe {
        let numbers = [rows, columns, to_row, to_column].map(|number| number as u64);
        CustomKernel::new(text, ports, build, on_cpu).with_numbers(numbers)
    };
    let p = planner.pipeline(format!("rows of a matrix of {rows} by {columns}"));
    let inputs = [p.input("from"), p.input("numbers")];
    let [to] = p.step(kernel.described(format!("{rows} by {columns} words of {word} bytes, {layout:?}")), &inputs);
    p.output("to", to);
    p.build()
}
