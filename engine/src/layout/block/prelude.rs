//! The generated CUDA source that describes a ring and its layout to a kernel.

use crypto_bigint::U256;

use crate::layout::KernelLayout;
use crate::layout::block::Block;
use ringforge_math::factorization::Layer;
use ringforge_math::modulus::Modulus;
use ringforge_math::poly::Form;

impl Block {
    /// The C++ struct with this name: the ring's shape and arithmetic, and the layout of its limbs in this block.
    pub(crate) fn prelude(&self, name: &str, rows: &KernelLayout) -> String {
        let KernelLayout { poly, factorization, arithmetic, .. } = rows;
        let capacity = rows.capacity();
        let codes: Vec<String> = factorization
            .layers()
            .iter()
            .map(|layer| match layer {
                Layer::Sixth => "6".into(),
                Layer::Two => "2".into(),
                Layer::Three => "3".into(),
            })
            .chain((factorization.layers().is_empty()).then(|| "0".to_string()))
            .collect();
        let passes: Vec<String> = self.passes.iter().map(ToString::to_string).collect();
        let store = match self.store_bytes {
            2 => "rf::u16",
            4 => "rf::u32",
            8 => "rf::u64",
            _ => "rf::u256",
        };
        let cell = if self.cell_bytes == 2 { "rf::u16" } else { arithmetic.word_type() };
        let modulus = match poly.moduli() {
            [q] if arithmetic.is_in_text() && !rows.by_launch => {
                format!("(const rf::Constants<{name}>*, rf::u32) {{ return {}; }}", arithmetic.initializer(q))
            }
            _ => format!("(const rf::Constants<{name}>* rows, rf::u32 number) {{ return rows[number].m; }}"),
        };
        let about = if rows.by_launch { String::new() } else { format!("// {}\n", poly.of_column()) };
        let of_text = usize::from(!rows.by_launch);
        let stored = stored(rows) + &groups(rows) + &self.in_turn();
        format!(
            "#include \"{header}\"\n#include \"ring.cuh\"\n\
             {about}\
             struct {name} {{\n\
             \x20   using M = rf::{arithmetic};\n\
             \x20   using Store = {store};\n\
             \x20   using Cell = {cell};\n\
             \x20   static constexpr rf::u32 n = {n}, base = {base}, layers = {layers}, columns = {columns};\n\
             \x20   static constexpr rf::u32 length = {length}, above = {above}, stride = {stride};\n\
             \x20   static constexpr rf::u32 rows = {rows}, per_item = {per_item}, leaf_threads = {leaf_threads}, leaf_lanes = {leaf_lanes};\n\
             \x20   static constexpr bool several = {several};\n\
             \x20   static constexpr rf::u32 layer[] = {{{codes}}};\n\
             \x20   static constexpr rf::u32 passes = {pass_count}, pass[] = {{{passes}}};\n\
             \x20   static constexpr rf::u32 threads = {threads}, per_thread = {per_thread}, tile = {tile};\n\
             \x20   static constexpr rf::u32 cluster = {cluster}, resident = {resident};\n\
             \x20   static constexpr rf::u32 vector = {vector}, run = {run}, gap = {gap}, row_bytes = {row_bytes};\n\
             \x20   static constexpr rf::u32 extra = {extra}, together = {together};\n\
             \x20   static constexpr bool by_roots = {by_roots};\n\
             \x20   static constexpr rf::u32 capacity = {capacity}u, cell_capacity = {cell_capacity}u;\n\
             \x20   static constexpr bool starts_with_one = {starts_with_one};\n\
             \x20   static constexpr bool shuffles = {shuffles}, whole_warps = {whole_warps}, natural_order = {natural_order};\n\
             \x20   static RF_METHOD M modulus{modulus}\n\
             {stored}}};\n",
            header = arithmetic.header(),
            arithmetic = poly.moduli().first().map_or_else(String::new, |q| arithmetic.type_name(q)),
            n = self.n / self.columns,
            length = self.length,
            above = self.above,
            stride = self.stride / self.columns,
            base = factorization.column_leaf_degree(),
            layers = factorization.layers().len(),
            columns = rows.layout.columns,
            rows = of_text * poly.basis().len(),
            per_item = of_text * rows.per_item,
            leaf_threads = rows.leaf_threads(),
            leaf_lanes = rows.leaf_lanes(),
            several = rows.has_several(),
            codes = codes.join(", "),
            pass_count = self.passes.len() - 1,
            passes = passes.join(", "),
            threads = self.threads,
            per_thread = self.per_thread,
            tile = self.rows,
            cluster = self.cluster,
            resident = self.resident(rows),
            starts_with_one = factorization.roots().iter().all(|roots| roots.start == U256::ONE),
            shuffles = self.shuffles(rows),
            vector = self.vector,
            run = self.run,
            gap = self.gap,
            row_bytes = self.row_bytes(),
            extra = self.extra,
            together = self.together,
            by_roots = self.by_roots,
            cell_capacity = match self.cell_bytes {
                2 => poly.basis().iter().filter_map(Modulus::value_u64).map(|q| 65535 / q).min().unwrap_or(1),
                _ => capacity,
            },
            whole_warps = self.whole_warps(),
            natural_order = rows.is_natural() && (self.stride == 1 || rows.strided_batch() && rows.is_last()),
        )
    }
}

impl Block {
    /// The member line with the offset of the prefetched tiles, or an empty string without prefetching.
    fn in_turn(&self) -> String {
        if self.in_turn { format!("    static constexpr rf::u32 next = {};\n", self.next()) } else { String::new() }
    }
}

/// The member of the generated struct which says that the ring accepts any word as an input.
pub(crate) const ANY_WORD: &str = "    static constexpr bool any_word = true;\n";

/// Member lines on the storage of residues, if it differs from the default in `stored.cuh`. The number of columns is
/// not among them, because it is a run-time constant.
fn stored(rows: &KernelLayout) -> String {
    let KernelLayout { poly, arithmetic, .. } = rows;
    let mut lines = String::new();
    if poly.form() != Form::default_of(poly.width()) {
        let has_factor = arithmetic.has_product_factor(poly);
        lines += &format!("    static constexpr bool product_factor = {has_factor};\n");
    }
    if poly.accepts_any_word() {
        lines += ANY_WORD;
    }
    if rows.strided_batch() {
        lines += "    static constexpr bool strided_batch = true;\n";
    }
    lines
}

/// The member line on layers that are merged into radix-2^k butterflies, or an empty string if there are none.
fn groups(rows: &KernelLayout) -> String {
    let sixteenth = rows.arithmetic.sixteenth(&rows.factorization);
    match sixteenth.filter(|_| rows.groups.iter().enumerate().any(|(layer, first)| layer != *first)) {
        Some(sixteenth) => {
            let groups: Vec<String> = rows.groups.iter().map(ToString::to_string).collect();
            let groups = groups.join(", ");
            format!("    static constexpr rf::u32 group[] = {{{groups}}}, sixteenth = {sixteenth};\n")
        }
        None => String::new(),
    }
}
