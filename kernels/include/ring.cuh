// How rows of a ring lie in a thread block: rows, threads, registers, shared memory, device memory.
//
// A row is one polynomial modulo one modulus. R is the struct that the engine generates for a ring (see README.md):
// R::threads threads share a row and hold R::per_thread residues each in registers; R::tile rows share a block, and an
// item has R::per_item of them. Layers run in passes, each of which combines only what one thread holds. In pass P
// thread t has in register r the coefficient Pass<R, P>::coeff(t, r). Coefficients enter in the layout of the first
// pass and leave the forward transform in that of the last.
#pragma once
#include "packed.cuh"
#include "stored.cuh"
#include "word.cuh"

namespace rf {

// The tree of a ring and its table of twiddle factors, at compile time. Layer codes: 2, 3, and 6 for the first layer of
// x^n - x^(n/2) + 1.
template <class R>
struct Tree {
    RF_CONST u32 radix(u32 layer) { return R::layer[layer] == 3 ? 3 : 2; }
    // Nodes above a layer.
    RF_CONST u32 nodes(u32 layer) {
        u32 count = 1;
        for (u32 l = 0; l < layer; l++) count *= radix(l);
        return count;
    }
    // Table entries of all layers above this one.
    RF_CONST u32 entries(u32 layer) {
        u32 count = 0;
        for (u32 l = 0; l < layer; l++) count += nodes(l) * (radix(l) - 1);
        return count;
    }
    // The table of a row: eight entries of its own (third root, scales, product factor), forward, inverse, leaves. Where a job
    // has a scale, Constants have those entries for it.
    static constexpr u32 third_root = 0, scale = 1, product_scale = 4, product_factor = 7;
    static constexpr u32 header = 8;
    RF_CONST u32 forward(u32 layer) { return header + entries(layer); }
    RF_CONST u32 inverse(u32 layer) { return header + entries(R::layers) + entries(layer); }
    static constexpr u32 leaf_count = R::n / R::base;
    RF_CONST u32 leaves() { return inverse(R::layers); }
    RF_CONST u32 table() { return (leaves() + (R::base > 1 ? leaf_count : 0) + 1) / 2 * 2; }

    // Sections from layer R::columns on are stored by columns: nodes that hang under different nodes above that layer
    // stand side by side, so that threads which hold one of those each read neighbouring entries.
    RF_CONST u32 tops() { return nodes(R::columns); }
    // The place in layer L's section of the node that is number `inner` under node `top` above R::columns.
    RF_CONST u32 column(u32 top, u32 inner) { return inner * tops() + top; }
    template <u32 L>
    RF_FN u32 slot(u32 node) {
        if constexpr (L <= R::columns) return node;
        else return column(node / (nodes(L) / tops()), node % (nodes(L) / tops()));
    }
    // The node at a place of layer L's section.
    template <u32 L>
    RF_FN u32 node_at(u32 slot) {
        if constexpr (L <= R::columns) return slot;
        else return slot % tops() * (nodes(L) / tops()) + slot / tops();
    }

    // The place in natural order of a leaf of the row: its digits reversed.
    template <u32 L = R::layers>
    RF_FN u32 natural_place(u32 leaf, u32 place = 0) {
        if constexpr (L == R::pass[0]) return place;
        else return natural_place<L - 1>(leaf / radix(L - 1), place * radix(L - 1) + leaf % radix(L - 1));
    }
    // The leaf at a place of natural order; or with fewer layers, the node whose leaves begin at a place.
    template <u32 To = R::layers, u32 L = 0>
    RF_FN u32 leaf_at(u32 place, u32 leaf = 0) {
        if constexpr (L == To) return leaf;
        else return leaf_at<To, L + 1>(place / radix(L), leaf * radix(L) + place % radix(L));
    }
};

// The layout of one pass.
template <class R, u32 P>
struct Pass {
    static constexpr u32 first = R::pass[P], last = R::pass[P + 1];
    static constexpr u32 nodes = Tree<R>::nodes(first) / R::above;              // of the row
    static constexpr u32 span = Tree<R>::nodes(last) / Tree<R>::nodes(first);  // coefficients that its layers combine
    static constexpr u32 stride = R::length / nodes / span;
    // Groups of `span` registers that lie side by side in memory, and sets of such groups.
    static constexpr u32 vector = last == R::layers && R::stride == 1 ? R::base : P == 0 ? R::vector : 1;
    static constexpr u32 sets = R::per_thread / span / vector;
    static_assert(sets * span * vector == R::per_thread && stride % vector == 0, "the pass does not fit the registers");

    // The node of the row's tree whose coefficients a set combines.
    RF_FN u32 node(u32 thread, u32 set) { return (set * R::threads + thread) * vector / stride; }

    // Coefficients that are side by side both in memory and for a thread: runs of `run` registers.
    static constexpr u32 run = R::stride > 1 ? 1 : stride == vector ? span * vector : vector;
    static constexpr u32 runs = R::per_thread / run;
    // The first coefficient of a run.
    RF_FN u32 run_start(u32 thread, u32 i) {
        u32 set = i / (runs / sets), k = i % (runs / sets);
        u32 column = (set * R::threads + thread) * vector;
        return column / stride * (stride * span) + column % stride + k * stride;
    }
    // The register of coefficient c of a run.
    RF_CONST u32 reg(u32 i, u32 c) {
        u32 set = i / (runs / sets), k = i % (runs / sets) + c / vector;
        return (set * vector + c % vector) * span + k;
    }
    // The coefficient in a register.
    RF_FN u32 coeff(u32 thread, u32 r) {
        u32 column = (r / span / vector * R::threads + thread) * vector + r / span % vector;
        return column / stride * (stride * span) + column % stride + r % span * stride;
    }
};

// Barrier among the threads of a row.
template <class R>
RF_FN void sync_row() {
    if constexpr (R::whole_warps) __syncwarp();
    else __syncthreads();
}

// out: whether any thread of the row says yes   (all threads of the warp call it; a row must lie in one)
template <class R>
RF_FN bool any_in_row(bool yes) {
    static_assert(R::whole_warps, "the row must lie in a warp");
    u32 votes = __ballot_sync(0xffffffff, yes);
    return (votes >> threadIdx.x % 32 / R::threads * R::threads & 0xffffffffu >> (32 - R::threads)) != 0;
}

// What belongs to a row of the basis beside its table: the modulus, and the eight entries that begin a table, with the
// scale of the job in them (see Tree).
template <class R>
struct Constants {
    alignas(16) typename R::M m;
    alignas(16) typename R::M::Twiddle header[8];
};

// A table, or where the ring may have several moduli, pointers to that of each row of the basis.
template <class R, bool Several = R::several>
struct TablesOf {
    using Type = typename R::M::Twiddle;
    RF_FN const Type* of(const Type* table, u32) { return table; }
};
template <class R>
struct TablesOf<R, true> {
    using Type = const typename R::M::Twiddle*;
    RF_FN const typename R::M::Twiddle* of(const Type* tables, u32 number) { return tables[number]; }
};
template <class R>
using Tables = typename TablesOf<R>::Type;

// A polynomial of a launch in which each block has `Count` of them, one after another.
template <u32 Count>
struct Polynomial {
    u64 item;    // counted from the first of the launch
    u32 number;  // in the item
    // in: the block, the place in it, polynomials of an item (Count times as many fit 32 bits, so that all quotients do)
    RF_METHOD Polynomial(u32 block, u32 place, u32 per_item) {
        if (per_item == 1) {
            item = (u64)block * Count + place, number = 0;
        } else {
            u32 left = block % per_item * Count + place;
            item = (u64)(block / per_item) * Count + left / per_item, number = left % per_item;
        }
    }
};

// The place of a thread in a launch over the rows of the items first .. end.
//
// Where several blocks share a polynomial, those of one modulus and one place in it come together, item by item, so that
// the factors they read are near. (Rows of several items in one block, which then read the same factors, were slower.)
// Rows that lie R::stride apart stand side by side in a block: neighbouring threads work on neighbouring rows.
// A launch of some of one item's blocks says in the upper half of end - first how many stand before them.
template <class R>
struct Row {
    static constexpr u32 parts = R::above * R::stride;  // rows of a polynomial

    u64 item;
    u32 number;  // of the polynomial in the item
    u32 part;    // of the row in it: by nodes, or with values in natural order by their places
    u32 node;    // that the row lies under
    u32 thread;  // within the row
    bool live;   // false in the last block's surplus: such a thread computes along and stores nothing
    unsigned char* shared;  // R::row_bytes for the functions below
    unsigned char* extra;   // R::extra bytes for the kernel's own use, aligned to 16
    u64 index;              // of the polynomial, counted over all items

    // in: polynomials of an item, where that is not a constant of R
    RF_METHOD Row(unsigned char* block_shared, u64 first, u64 end, u64 per_item = R::per_item) {
        follow();
        constexpr bool apart = R::stride > 1;
        u32 slot = apart ? threadIdx.x % R::tile : threadIdx.x / R::threads;
        thread = apart ? threadIdx.x / R::tile : threadIdx.x % R::threads;
        if constexpr (parts == 1) {
            Polynomial<R::tile> polynomial(blockIdx.x, slot, R::per_item ? R::per_item : (u32)per_item);
            item = first + polynomial.item;
            number = polynomial.number;
            part = node = 0;
            live = item < end;
        } else {
            constexpr u32 blocks = parts / R::tile;
            static_assert(parts % R::tile == 0, "a block's rows must lie in one polynomial");
            u32 items = (u32)(end - first), skipped = (u32)(end - first >> 32), place = blockIdx.x / items + skipped;
            item = first + blockIdx.x % items;
            number = place / blocks;
            part = place % blocks * R::tile + slot;
            node = R::natural_order ? Tree<R>::template leaf_at<R::pass[0]>(part) : part / R::stride;
            live = true;
        }
        index = item * (R::per_item ? R::per_item : per_item) + number;
        shared = block_shared + slot * (apart ? sizeof(typename R::Cell) : R::row_bytes + R::extra);
        extra = shared + R::row_bytes;
    }
    // The place of its polynomial, in memory with so many residues from an item to the next.
    // in: that distance, where it is not a constant of R
    RF_METHOD u64 polynomial(u64 distance) const {
        return R::per_item ? index * R::n : item * distance + (u64)number * R::n;
    }
    // The place of the row's first coefficient.
    RF_METHOD u64 offset(u64 distance = 0) const {
        return polynomial(distance) + (parts == 1 ? 0 : node * (R::length * R::stride) + part % R::stride);
    }
    // The place of its first value: elsewhere if values stand in natural order.
    RF_METHOD u64 values(u64 distance = 0) const {
        return R::natural_order && parts > 1 ? polynomial(distance) + part * R::base : offset(distance);
    }
    // The row of the basis that its modulus is of.
    RF_METHOD u32 of_basis() const {
        if constexpr (R::per_item == R::rows) return number;
        else return number % R::rows;
    }
    RF_METHOD const typename R::M::Twiddle* table(const Tables<R>* tables) const {
        return TablesOf<R>::of(tables, of_basis());
    }
};

// To which a row in memory is aligned, in bytes.
template <class R>
constexpr u32 row_alignment = (R::stride > 1 ? 1 : R::length) * sizeof(typename R::Store);

// in: a row in memory, its coefficients R::stride apart   out: registers in the layout of pass P (zero in surplus threads)
template <class R, u32 P>
RF_FN void load_row(typename R::M::Word* x, const typename R::Store* row, u32 thread, bool live) {
    using S = Pass<R, P>;
    using Word = typename R::M::Word;
    RF_UNROLL
    for (u32 i = 0; i < R::per_thread; i++) x[i] = Word{};
    if (!live) return;
    RF_UNROLL
    for (u32 i = 0; i < S::runs; i++) {
        Move<typename R::Store, S::run, row_alignment<R>>::template load<Word>(
            row + S::run_start(thread, i) * R::stride, [&](u32 c, Word v) { x[S::reg(i, c)] = v; });
    }
}

// in: residues in registers in the layout of pass P   out: a row in memory, by way of an ending
template <class R, u32 P, class Ending = AsIs>
RF_FN void store_row(const typename R::M::Word* x, typename R::Store* row, u32 thread, bool live, const Ending& ending = {}) {
    using S = Pass<R, P>;
    if (!live) return;
    store_runs<S::runs, S::run, row_alignment<R>>(
        ending, row, [&](u32 i) { return S::run_start(thread, i) * R::stride; },
        [&](u32 i, u32 c) { return x[S::reg(i, c)]; }, [](u32) { return true; });
}

// A row staged in shared memory, so that device memory is touched in order, in vectors, whatever the layout: gaps keep
// threads whose runs lie side by side on different banks.
template <class R>
struct Stage {
    using Store = typename R::Store;
    static constexpr u32 run_bytes = R::run * sizeof(Store);
    static constexpr u32 unit = vector_bytes(run_bytes, 16);
    static constexpr u32 gap = run_bytes / unit % 2 ? 0 : unit;
    static constexpr u32 units = R::length * sizeof(Store) / unit;
    static constexpr u32 bytes = R::length * sizeof(Store) + R::length / R::run * gap;
    static constexpr u32 steps = (units + R::threads - 1) / R::threads;
    static_assert(R::threads == 1 || bytes <= R::row_bytes, "the staged row must fit its shared memory");

    struct alignas(unit) Unit {
        u16 halves[unit / 2];
    };
    RF_FN Store* element(unsigned char* shared, u32 i) { return (Store*)(shared + at(i * sizeof(Store))); }
    RF_FN u32 at(u32 byte) { return byte + byte / run_bytes * gap; }
    // Moves the row between shared and device memory.
    template <class Ending>
    RF_FN void out(unsigned char* shared, Store* row, u32 thread, const Ending& ending) {
        if constexpr (Ending::plain) {
            RF_UNROLL
            for (u32 i = 0; i < steps; i++) {
                u32 c = i * R::threads + thread;
                if (units % R::threads == 0 || c < units) ((Unit*)row)[c] = *(const Unit*)(shared + at(c * unit));
            }
        } else {
            // whole elements
            constexpr u32 each = unit < sizeof(Store) ? 1 : unit / sizeof(Store), count = R::length / each;
            store_runs<(count + R::threads - 1) / R::threads, each, unit>(
                ending, row, [&](u32 i) { return (i * R::threads + thread) * each; },
                [&](u32 i, u32 c) { return *element(shared, (i * R::threads + thread) * each + c); },
                [&](u32 i) { return count % R::threads == 0 || i * R::threads + thread < count; });
        }
    }
    RF_FN void in(unsigned char* shared, const Store* row, u32 thread) {
        RF_UNROLL
        for (u32 i = 0; i < steps; i++) {
            u32 c = i * R::threads + thread;
            if (units % R::threads == 0 || c < units) *(Unit*)(shared + at(c * unit)) = ((const Unit*)row)[c];
        }
    }
};

// Rows of a block whose values interleave in memory, since natural order puts leaf k of each one beside that of the next:
// staged in shared memory by places, so that device memory is touched in runs of all rows.
template <class R>
struct Across {
    using Store = typename R::Store;
    static constexpr u32 places = R::length / R::base, wide = R::tile * R::base;
    static constexpr u32 pitch = wide + (wide * sizeof(Store) % 128 == 0);
    static constexpr u32 block = R::tile * R::threads;

    // Where value c of the row in a slot of the block is staged.
    RF_FN u32 at(u32 slot, u32 c) {
        return Tree<R>::natural_place(c / R::base) * pitch + slot * R::base + c % R::base;
    }
    // Calls move(staged, memory) for this thread's share, counted from the values of the block's first row.
    template <class F>
    RF_FN void each(F move) {
        RF_UNROLL
        for (u32 i = 0; i < places * wide; i += block) {
            u32 c = i + threadIdx.x;
            if (places * wide % block == 0 || c < places * wide)
                move(c / wide * pitch + c % wide, c / wide * (R::above * R::base) + c % wide);
        }
    }
};

// in: a row of values in memory, leaves in natural order if Natural   out: registers in the layout of the last pass
// All threads of the row call it. Shared memory must be free: if it was in use, they meet at sync_row first.
template <class R, bool Natural>
RF_FN void load_values(typename R::M::Word* x, const typename R::Store* row, u32 thread, bool live,
                       unsigned char* shared) {
    using S = Pass<R, R::passes - 1>;
    using Word = typename R::M::Word;
    if constexpr (R::stride > 1 || (R::threads == 1 && !Natural)) {
        load_row<R, R::passes - 1>(x, row, thread, live);
    } else if constexpr (Natural && R::above > 1) {
        u32 slot = threadIdx.x / R::threads;
        auto* stage = (typename R::Store*)(shared - slot * (R::row_bytes + R::extra));
        const auto* memory = row - slot * R::base;
        Across<R>::each([&](u32 staged, u32 place) { stage[staged] = memory[place]; });
        __syncthreads();
        RF_UNROLL
        for (u32 r = 0; r < R::per_thread; r++) 
            x[r] = word_of<Word>(stage[Across<R>::at(slot, S::coeff(thread, r))]);
        __syncthreads();  // where a row is a warp's alone, what follows waits for its lanes only
    } else {
        if (live) Stage<R>::in(shared, row, thread);
        sync_row<R>();
        if constexpr (Natural) {
            RF_UNROLL
            for (u32 r = 0; r < R::per_thread; r++) {
                u32 c = S::coeff(thread, r);
                x[r] = word_of<Word>(
                    *Stage<R>::element(shared, Tree<R>::natural_place(c / R::base) * R::base + c % R::base));
            }
        } else {
            RF_UNROLL
            for (u32 i = 0; i < S::runs; i++) {
                Move<typename R::Store, S::run, Stage<R>::unit>::template load<Word>(
                    Stage<R>::element(shared, S::run_start(thread, i)), [&](u32 c, Word v) { x[S::reg(i, c)] = v; });
            }
        }
    }
}

// in: values in the layout of the last pass   out: a row in memory, leaves in natural order if Natural, by way of an ending
// All threads of the row call it; shared memory may have been in use before.
template <class R, bool Natural, class Ending = AsIs>
RF_FN void store_values(const typename R::M::Word* x, typename R::Store* row, u32 thread, bool live,
                        unsigned char* shared, const Ending& ending = {}) {
    using S = Pass<R, R::passes - 1>;
    using Store = typename R::Store;
    if constexpr (R::stride > 1 || (R::threads == 1 && !Natural)) {
        store_row<R, R::passes - 1>(x, row, thread, live, ending);
    } else if constexpr (Natural && R::above > 1) {
        u32 slot = threadIdx.x / R::threads;
        auto* stage = (Store*)(shared - slot * (R::row_bytes + R::extra));
        __syncthreads();
        RF_UNROLL
        for (u32 r = 0; r < R::per_thread; r++)
            stage[Across<R>::at(slot, S::coeff(thread, r))] = element_of<Store>(x[r]);
        __syncthreads();
        Across<R>::each([&](u32 staged, u32 place) {
            store_run<1, sizeof(Store)>(ending, row, (i64)place - slot * R::base, [&](u32) { return stage[staged]; });
        });
    } else {
        sync_row<R>();
        if constexpr (Natural) {
            RF_UNROLL
            for (u32 r = 0; r < R::per_thread; r++) {
                u32 c = S::coeff(thread, r);
                *Stage<R>::element(shared, Tree<R>::natural_place(c / R::base) * R::base + c % R::base) =
                    element_of<Store>(x[r]);
            }
        } else {
            RF_UNROLL
            for (u32 i = 0; i < S::runs; i++) {
                Move<Store, S::run, Stage<R>::unit>::store(
                    Stage<R>::element(shared, S::run_start(thread, i)), [&](u32 c) { return x[S::reg(i, c)]; });
            }
        }
        sync_row<R>();
        if (live) Stage<R>::out(shared, row, thread, ending);
    }
}

// The shared cell of a coefficient: R::gap cells are left free after every R::run, so that threads whose coefficients
// lie R::run apart meet different banks. Rows that stand side by side in memory do so in shared memory.
template <class R>
RF_FN u32 cell(u32 coeff) {
    return (coeff + coeff / R::run * R::gap) * (R::stride > 1 ? R::tile : 1);
}

// out: what the lane says whose number differs in these bits
RF_FN u32 from_lane(u32 x, u32 bits) { return __shfl_xor_sync(0xffffffff, x, bits); }
RF_FN u64 from_lane(u64 x, u32 bits) { return join(from_lane(low(x), bits), from_lane(high(x), bits)); }
RF_FN double from_lane(double x, u32 bits) { return double_of(from_lane(bits_of(x), bits)); }

// The exchange between two passes of a row in a warp, by shuffles: for each bit of the thread's number, registers that
// differ in that bit of theirs change places with those of the thread that differs in it.
template <class R>
RF_FN void exchange_lanes(typename R::M::Word* x, u32 thread) {
    RF_UNROLL
    for (u32 bit = 1; bit < R::threads; bit *= 2) {
        bool upper = (thread & bit) != 0;
        RF_UNROLL
        for (u32 r = 0; r < R::per_thread; r++) {
            if (r & bit) continue;
            auto lower_half = x[r], upper_half = x[r | bit];
            auto other = from_lane(upper ? lower_half : upper_half, bit);
            x[r] = upper ? other : lower_half;
            x[r | bit] = upper ? upper_half : other;
        }
    }
}

// in: registers in the layout of pass From, values that fit a cell   out: the layout of pass To
// All threads of the row call it; it begins with a barrier, so shared memory may have been in use before.
template <class R, u32 From, u32 To>
RF_FN void exchange(typename R::M::Word* x, unsigned char* shared, u32 thread) {
    using F = Pass<R, From>;
    using T = Pass<R, To>;
    using Word = typename R::M::Word;
    using Cell = typename R::Cell;
    if constexpr (R::shuffles) return exchange_lanes<R>(x, thread);
    constexpr u32 align = R::gap ? R::gap * sizeof(Cell) : R::run * sizeof(Cell);
    constexpr u32 from = F::run <= R::run && R::run % F::run == 0 ? F::run : 1;
    constexpr u32 to = T::run <= R::run && R::run % T::run == 0 ? T::run : 1;
    Cell* cells = (Cell*)shared;
    sync_row<R>();
    RF_UNROLL
    for (u32 i = 0; i < R::per_thread / from; i++) {
        u32 start = F::run_start(thread, i / (F::run / from)) + i % (F::run / from) * from;
        Move<Cell, from, align>::store(cells + cell<R>(start), [&](u32 c) {
            return x[F::reg(i / (F::run / from), i % (F::run / from) * from + c)];
        });
    }
    sync_row<R>();
    RF_UNROLL
    for (u32 i = 0; i < R::per_thread / to; i++) {
        u32 start = T::run_start(thread, i / (T::run / to)) + i % (T::run / to) * to;
        Move<Cell, to, align>::template load<Word>(cells + cell<R>(start), [&](u32 c, Word v) {
            x[T::reg(i / (T::run / to), i % (T::run / to) * to + c)] = v;
        });
    }
}

}  // namespace rf
