// Data layout of transforms: how tiles map to thread blocks, threads, registers, shared memory and device memory.
//
// A tile (struct Row below) is one limb (a residue polynomial) of a ring element. In a kernel that computes only some
// of the layers, it is one of the independent sub-transforms of a limb. R is the struct that the engine generates for a
// ring (see README.md). R::threads threads share a tile and hold R::per_thread residues each in registers. A block
// holds R::tile tiles, and a batch item has R::per_item limbs.
//
// Layers run in passes: within a pass, butterflies combine only residues in the registers of one thread. In pass P,
// register r of thread t holds coefficient Pass<R, P>::coeff(t, r). The forward transform takes coefficients in the
// layout of the first pass and leaves evaluations in that of the last pass.
//
// The R::cluster blocks of a thread-block cluster may share a tile; its threads are then numbered across these blocks.
// The first pass combines coefficients of all blocks. After it, each block has whole subtrees of the factorization
// tree.
//
// A cell is the place of one residue in shared memory. The product factor is the constant that a reduced product of two
// stored residues lacks (`lacks_factor` in stored.cuh).
#pragma once
#include "packed.cuh"
#include "stored.cuh"
#include "word.cuh"

namespace rf {

// The factorisation tree of a ring and its table of twiddle factors, at compile time. Layer L splits each of its
// nodes(L) nodes into radix(L) children. Layer codes: 2 and 3 are the radix; 6 is the first layer of x^n - x^(n/2) + 1,
// with radix 2.
template <class R>
struct Tree {
    RF_CONST u32 radix(u32 layer) { return R::layer[layer] == 3 ? 3 : 2; }
    // Number of nodes at the input of a layer; nodes(R::layers) is the number of leaves.
    RF_CONST u32 nodes(u32 layer) {
        u32 count = 1;
        for (u32 l = 0; l < layer; l++) count *= radix(l);
        return count;
    }
    // Number of twiddle factors of all earlier layers; a node of radix r has r - 1 of them.
    RF_CONST u32 entries(u32 layer) {
        u32 count = 0;
        for (u32 l = 0; l < layer; l++) count += nodes(l) * (radix(l) - 1);
        return count;
    }
    // The twiddle table of one modulus: eight header entries (third root of unity, scales, product factor), forward
    // layers, inverse layers, leaf constants. If a job includes a constant factor, its `Constants` have a copy of the
    // header with scales that include this factor.
    static constexpr u32 third_root = 0, scale = 1, product_scale = 4, product_factor = 7;
    static constexpr u32 header = 8;
    RF_CONST u32 forward(u32 layer) { return header + entries(layer); }
    RF_CONST u32 inverse(u32 layer) { return header + entries(R::layers) + entries(layer); }
    static constexpr u32 leaf_count = R::n / R::base;
    RF_CONST u32 leaves() { return inverse(R::layers); }
    // If the last four layers have radix 2, the table ends with eight roots of unity and their inverses. Among the
    // eight nodes below a common ancestor, root i is the ratio of the twiddle factor of node i to that of node 0.
    RF_CONST u32 roots() { return (leaves() + (R::base > 1 ? leaf_count : 0) + 1) / 2 * 2; }
    RF_CONST u32 inverse_roots() { return roots() + root_count; }
    static constexpr bool ends_by_twos =
        R::layers > 3 && R::layer[R::layers - 1] + R::layer[R::layers - 2] + R::layer[R::layers - 3] + R::layer[R::layers - 4] == 8;
    static constexpr u32 root_count = ends_by_twos ? 8 : 0;
    RF_CONST u32 table() { return inverse_roots() + root_count; }

    // Sections of the layers after R::columns are transposed: entries at the same position below different nodes of
    // layer R::columns are adjacent. So threads that each hold one of these nodes read adjacent entries.
    RF_CONST u32 tops() { return nodes(R::columns); }
    // Index, in a transposed section, of node `inner` below node `top` of layer R::columns.
    RF_CONST u32 column(u32 top, u32 inner) { return inner * tops() + top; }
    template <u32 L>
    RF_FN u32 slot(u32 node) {
        if constexpr (L <= R::columns) return node;
        else return column(node / (nodes(L) / tops()), node % (nodes(L) / tops()));
    }
    // The node of layer L whose entry has index `slot` in the layer's section: the inverse of the function `slot`.
    template <u32 L>
    RF_FN u32 node_at(u32 slot) {
        if constexpr (L <= R::columns) return slot;
        else return slot % tops() * (nodes(L) / tops()) + slot / tops();
    }

    // Reverses the mixed-radix digits of a node's number at layer L: the digits of layers To to L - 1.
    template <u32 To, u32 L>
    RF_FN u32 reversed(u32 node, u32 place = 0) {
        if constexpr (L == To) return place;
        else return reversed<To, L - 1>(node / radix(L - 1), place * radix(L - 1) + node % radix(L - 1));
    }
    // The leaf at position `place` of the natural order. If To < R::layers, the node of layer To whose leaves begin at
    // that position.
    template <u32 To = R::layers, u32 L = 0>
    RF_FN u32 leaf_at(u32 place, u32 leaf = 0) {
        if constexpr (L == To) return leaf;
        else return leaf_at<To, L + 1>(place / radix(L), leaf * radix(L) + place % radix(L));
    }
};

// True if radix-2 layers are merged into radix-2^k passes (`Group` in ntt.cuh). R::group exists only in this case.
template <class R, class = void>
constexpr bool in_groups = false;
template <class R>
constexpr bool in_groups<R, decltype((void)R::group)> = true;

// The first layer of the group (radix-2^k pass) that contains `layer`; `layer` itself if it is in no group.
template <class R>
RF_CONST u32 group_of(u32 layer) {
    if constexpr (in_groups<R>) return R::group[layer];
    else return layer;
}

// True if a tile's length is a power of two, so that thread and register numbers are disjoint bit fields of a
// coefficient's index. The compile-time part of an index is then added to the address and becomes the immediate offset
// of the access. So one address serves all accesses of a thread.
template <class R>
constexpr bool by_bits = (R::length & (R::length - 1)) == 0;

// Register layout of one pass: layers `first` to `last` - 1.
template <class R, u32 P>
struct Pass {
    static constexpr u32 first = R::pass[P], last = R::pass[P + 1];
    static constexpr u32 nodes = Tree<R>::nodes(first) / R::above;              // of the tile, at layer `first`
    static constexpr u32 span = Tree<R>::nodes(last) / Tree<R>::nodes(first);  // coefficients that the pass combines
    static constexpr u32 stride = R::length / nodes / span;
    // A thread holds `sets` sets of `vector` groups of `span` registers. The groups of a set are adjacent in memory;
    // `near` of them belong to the same tile.
    static constexpr u32 vector = stands_apart<R> ? R::vector : last == R::layers ? R::base : P == 0 ? R::vector : 1;
    static constexpr u32 near = stands_apart<R> ? 1 : vector;
    static constexpr u32 sets = R::per_thread / span / vector;
    static_assert(sets * span * vector == R::per_thread && stride % near == 0, "the pass must fit the registers of a thread");

    // The node of the tile's tree, at layer `first`, whose coefficients the set combines.
    RF_FN u32 node(u32 thread, u32 set) { return (set * R::threads + thread) * near / stride; }

    // A run is `run` coefficients of one thread that are adjacent in memory.
    static constexpr u32 run = !stands_apart<R> && stride == vector ? span * vector : vector;
    static constexpr u32 runs = R::per_thread / run;
    // Index in the tile of the first coefficient of run i.
    RF_FN u32 run_start(u32 thread, u32 i) {
        u32 set = i / (runs / sets), k = i % (runs / sets);
        u32 column = (set * R::threads + thread) * near;
        return column / stride * (stride * span) + column % stride + k * stride;
    }
    // Offset of run i in memory, in residues. `columns`: number of columns of a strided batch (`strided_batch`), else
    // 1. Natural: true if the leaves of all tiles are stored in natural order.
    template <bool Natural = false>
    RF_FN u64 run_place(u32 thread, u32 i, u32 columns = 1) {
        if constexpr (Natural) {
            constexpr u32 apart = R::above * R::stride;
            return (u64)(natural_node(thread, i / span) * apart * columns) + natural_inner(i % span) * apart * columns;
        } else if constexpr (by_bits<R>) {
            return (u64)(run_start(thread, 0) * R::stride * columns) + run_start(0, i) * R::stride * columns;
        } else {
            return run_start(thread, i) * R::stride * columns;
        }
    }
    // The register that holds coefficient c of run i. For interleaved tiles (`stands_apart`), c counts tiles instead,
    // and each has one coefficient in the run.
    RF_CONST u32 reg(u32 i, u32 c) {
        u32 set = i / (runs / sets), k = i % (runs / sets) + c / vector;
        return (set * vector + c % vector) * span + k;
    }
    // Index in the tile of the coefficient in register r.
    RF_FN u32 coeff(u32 thread, u32 r) {
        u32 column = (r / span / vector * R::threads + thread) * near + r / span % near;
        return column / stride * (stride * span) + column % stride + r % span * stride;
    }
    // The first register of group g of a set; g counts through the tiles of all items that the thread holds.
    RF_FN u32 group(u32 set, u32 g) { return g / vector * R::per_thread + (set * vector + g % vector) * span; }
    // For the last pass only: leaf `inner` below a set's node has position natural_node + natural_inner in natural
    // order, among the leaves of the tile.
    RF_FN u32 natural_node(u32 thread, u32 set) { return Tree<R>::template reversed<R::pass[0], first>(node(thread, set)); }
    RF_FN u32 natural_inner(u32 inner) { return Tree<R>::template reversed<first, last>(inner) * nodes; }
};

// Coefficients and threads of a tile in one block: those of the whole tile, except in clusters.
template <class R>
constexpr u32 share_length = R::length / R::cluster;
template <class R>
constexpr u32 share_threads = R::threads / R::cluster;

// Barrier among the threads of a tile that are in one block.
template <class R>
RF_FN void sync_row() {
    if constexpr (R::whole_warps) __syncwarp();
    else __syncthreads();
}

// True if the threads of a block fill whole warps.
template <class R>
constexpr bool full_warps = share_threads<R> * R::tile % 32 == 0;

// Barrier among the threads that exchange residues: those of a warp if InWarp, else those of a tile in one block.
template <class R, bool InWarp>
RF_FN void sync_near() {
    if constexpr (InWarp) __syncwarp();
    else sync_row<R>();
}

// Barrier among all blocks of a cluster, in two halves: a thread arrives, and later waits until all threads have
// arrived. After the wait, writes to other blocks' shared memory that preceded the arrivals are visible, except those
// of threads that arrived with Written = false. (Architectures before sm_90 do not declare these intrinsics.)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define RF_IN_CLUSTERS(otherwise, ...) otherwise
#else
#define RF_IN_CLUSTERS(otherwise, ...) __VA_ARGS__
#endif
template <class R, bool Written = true>
RF_FN void arrive_at_cluster() {
    if constexpr (Written) { RF_IN_CLUSTERS(, __cluster_barrier_arrive()); }
    else { RF_IN_CLUSTERS(, __cluster_barrier_arrive_relaxed()); }
}
template <class R>
RF_FN void wait_for_cluster() {
    RF_IN_CLUSTERS(, __cluster_barrier_wait());
}
template <class R>
RF_FN void sync_cluster() {
    arrive_at_cluster<R>();
    wait_for_cluster<R>();
}
// Completes the pending cluster barrier and arrives at the next one. After this call, the thread must not read cells
// that other blocks overwrite after the next barrier.
template <class R>
RF_FN void pass_cluster() {
    wait_for_cluster<R>();
    arrive_at_cluster<R>();
}
// The address of `cells` in the shared memory of another block of the cluster (distributed shared memory).
template <class Cell>
RF_FN Cell* in_block(Cell* cells, u32 block) {
    return RF_IN_CLUSTERS(cells, (Cell*)__cluster_map_shared_rank(cells, block));
}
#undef RF_IN_CLUSTERS

// out: true if `yes` is true in any thread of the tile   (all threads of its warp must call it)
template <class R>
RF_FN bool any_in_row(bool yes) {
    static_assert(R::whole_warps, "the limb must be within one warp");
    u32 votes = __ballot_sync(0xffffffff, yes);
    return (votes >> threadIdx.x % 32 / R::threads * R::threads & 0xffffffffu >> (32 - R::threads)) != 0;
}

// Constants of a limb of the basis, besides its twiddle table: the modulus, and a copy of the table's eight header
// entries in which the scales include the job's constant factor (see Tree).
template <class R>
struct Constants {
    alignas(16) typename R::M m;
    alignas(16) typename R::M::Twiddle header[8];
};

// A twiddle table or, if the ring may have several moduli, an array of pointers to the tables of its limbs.
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

// Position of a polynomial (limb) in a launch whose blocks have `Count` consecutive polynomials each.
template <u32 Count>
struct Polynomial {
    u64 item;    // index of the item, counted from the launch's first item
    u32 number;  // index in the item
    // in: the block; the slot in the block; polynomials per item. Count * per_item must fit 32 bits, so that 32-bit
    //     divisions suffice.
    RF_METHOD Polynomial(u32 block, u32 place, u32 per_item) {
        if (per_item == 1) {
            item = (u64)block * Count + place, number = 0;
        } else {
            u32 left = block % per_item * Count + place;
            item = (u64)(block / per_item) * Count + left / per_item, number = left % per_item;
        }
    }
};

// Double buffering (turns.cuh): offset in shared memory at which the tile of the block's next item is prefetched
// (R::next). It is 0 if R has no such member; a thread then holds the tiles of all the block's items at once.
template <class R, class = void>
constexpr u32 next_row = 0;
template <class R>
constexpr u32 next_row<R, decltype((void)R::next)> = R::next;
template <class R>
constexpr u32 items_at_once = next_row<R> > 0 ? 1 : R::together;

// Position of a thread in a launch over the tiles of the items first .. end.
//
// If several blocks share a polynomial, consecutive blocks handle the same modulus and the same part of the polynomial
// for all items. So they share cached twiddle factors.
// Tiles with R::stride > 1 are interleaved in a block: adjacent threads work on adjacent groups of R::vector tiles,
// which have the same twiddle factors.
// If a launch covers only some blocks of one item, the upper half of end - first is the number of blocks to skip.
// In a strided batch, a block has R::tile adjacent tiles of the matrix; the last block has the remainder.
template <class R>
struct Row {
    static constexpr u32 parts = R::above * R::stride;  // tiles of a polynomial

    u64 item;
    u32 number;  // index of the polynomial in the item
    u32 part;    // index of the tile (or a group's first) in the polynomial: by node, or by position in natural order
    u32 node;    // node of the factorization tree above the tile
    u32 thread;  // index in the tile
    bool live;   // false for surplus threads of the last block, which compute but never store
    u32 columns;  // columns of a strided batch (`strided_batch`)
    u32 items;   // items with this tile: R::together from `item` on, or fewer at the end
    unsigned char* shared;  // the tile's R::row_bytes bytes, used by the functions below
    unsigned char* extra;   // R::extra bytes for the kernel's own use, aligned to 16
    u64 index;              // index of the polynomial over all items

    // in: polynomials per item, ignored if R::per_item is a constant; for a strided batch, the number of columns in the
    //     upper 32 bits
    RF_METHOD Row(unsigned char* block_shared, u64 first, u64 end, u64 per_item = R::per_item) {
        follow();
        constexpr bool apart = stands_apart<R>;
        u32 slot = apart ? threadIdx.x % R::tile : threadIdx.x / R::threads;
        items = 1;
        thread = apart ? threadIdx.x / R::tile : threadIdx.x % R::threads;
        if constexpr (R::cluster > 1) {
            static_assert(R::tile == 1 && parts == 1, "a cluster must work on a single limb");
            arrive_at_cluster<R, false>();  // the first exchange between blocks waits until all have started
            u32 all = (u32)(end - first), index = blockIdx.x / R::cluster;
            item = first + index % all;
            number = index / all;
            part = node = 0;
            thread += blockIdx.x % R::cluster * share_threads<R>;
            live = true;
        } else if constexpr (strided_batch<R>) {
            static_assert(R::vector == 1 && R::together == 1, "strided batches need R::vector and R::together of 1");
            columns = (u32)(per_item >> 32), per_item = (u32)per_item;
            u32 all = (u32)(end - first), place = blockIdx.x / all + (u32)(end - first >> 32);
            u32 beside = R::stride * columns, blocks = (beside + R::tile - 1) / R::tile;
            item = first + blockIdx.x % all;
            number = place / blocks / R::above;
            node = place / blocks % R::above;
            part = place % blocks * R::tile + slot;
            live = part < beside;
        } else if constexpr (parts == 1) {
            Polynomial<R::tile> polynomial(blockIdx.x, slot, R::per_item ? R::per_item : (u32)per_item);
            item = first + polynomial.item;
            number = polynomial.number;
            part = node = 0;
            live = item < end;
        } else {
            constexpr u32 each = apart ? R::vector : 1, rows = R::tile * each, blocks = parts / rows;
            static_assert(parts % rows == 0, "the tiles of a block must be within one polynomial");
            u32 all = (u32)(end - first), groups = (all + R::together - 1) / R::together;
            u32 skipped = (u32)(end - first >> 32), place = blockIdx.x / groups + skipped, before = blockIdx.x % groups * R::together;
            item = first + before;
            if (R::together > 1) items = all - before < R::together ? all - before : R::together;
            number = place / blocks;
            part = place % blocks * rows + slot * each;
            node = R::natural_order ? Tree<R>::template leaf_at<R::pass[0]>(part) : part / R::stride;
            live = true;
        }
        index = item * (R::per_item ? R::per_item : per_item) + number;
        if constexpr (apart) shared = block_shared + slot * (R::vector * sizeof(typename R::Cell));
        else shared = block_shared + slot * (R::row_bytes * items_at_once<R> + R::extra);
        extra = shared + R::row_bytes * items_at_once<R>;
    }
    // The position of the same tile in item `item` + i.
    // in: polynomials per item, ignored if R::per_item is a constant
    RF_METHOD Row of_item(u32 i, u64 per_item = R::per_item) const {
        Row row = *this;
        if constexpr (R::together > 1) row.item += i, row.index += i * (R::per_item ? R::per_item : per_item);
        return row;
    }
    // Number of columns of a strided batch, else 1. (Multiply by it only if strided_batch<R>: elsewhere the factor 1 is
    // optimised away but changes the order in which the compiler places loads.)
    RF_METHOD u32 width() const { return strided_batch<R> ? columns : 1; }
    // Offset of the tile's polynomial in memory, in residues.
    // in: stride between items in residues; ignored if R::per_item is a constant
    RF_METHOD u64 polynomial(u64 distance) const {
        if constexpr (strided_batch<R>) return R::per_item ? index * R::n * columns : item * distance + (u64)number * R::n * columns;
        else return R::per_item ? index * R::n : item * distance + (u64)number * R::n;
    }
    // Offset of the tile's first coefficient in memory, in residues.
    RF_METHOD u64 offset(u64 distance = 0) const {
        if constexpr (strided_batch<R>) return polynomial(distance) + (u64)node * (R::length * R::stride) * columns + part;
        else return polynomial(distance) + (parts == 1 ? 0 : node * (R::length * R::stride) + part % R::stride);
    }
    // Offset in memory of the first evaluation of the tile's part in this block, in residues. It differs from `offset`
    // in clusters and in natural order.
    RF_METHOD u64 values(u64 distance = 0) const {
        if constexpr (R::cluster > 1) return offset(distance) + thread / share_threads<R> * share_length<R>;
        else if constexpr (strided_batch<R> && R::natural_order)
            return polynomial(distance) + (u64)Tree<R>::template reversed<0, R::pass[0]>(node) * R::stride * columns + part;
        else return R::natural_order && parts > 1 ? polynomial(distance) + part * R::base : offset(distance);
    }
    // Index of the tile's modulus in the basis.
    RF_METHOD u32 of_basis() const {
        if constexpr (R::per_item == R::rows) return number;
        else return number % R::rows;
    }
    RF_METHOD const typename R::M::Twiddle* table(const Tables<R>* tables) const {
        return TablesOf<R>::of(tables, of_basis());
    }
};

template <u32 N>
struct Number {
    static constexpr u32 value = N;
};
// Calls work(Number<k>) once. k is items_at_once<R> if the block still has that many items, else 1.
template <class R, class F>
RF_FN void at_once(const Row<R>& row, F work) {
    static_assert(items_at_once<R> <= 2, "a block takes at most two items at once");
    if constexpr (items_at_once<R> > 1) {
        if (row.items > 1) return work(Number<items_at_once<R>>{});
    }
    work(Number<1>{});
}

// Alignment in bytes of a tile in memory, or of a group of interleaved tiles.
template <class R>
constexpr u32 row_alignment = (stands_apart<R> ? R::vector : R::length) * sizeof(typename R::Store);

// in: a tile in memory with coefficient stride R::stride, times `columns` in a strided batch; leaves in natural order
//     if Natural
// out: registers in the layout of pass P (zero in surplus threads)
template <class R, u32 P, bool Natural = false>
RF_FN void load_row(typename R::M::Word* x, const typename R::Store* row, u32 thread, bool live, u32 columns = 1) {
    using S = Pass<R, P>;
    using Word = typename R::M::Word;
    RF_UNROLL
    for (u32 i = 0; i < R::per_thread; i++) x[i] = Word{};
    if (!live) return;
    RF_UNROLL
    for (u32 i = 0; i < S::runs; i++) {
        Move<typename R::Store, S::run, row_alignment<R>>::template load<Word>(
            row + S::template run_place<Natural>(thread, i, strided_batch<R> ? columns : 1), [&](u32 c, Word v) { x[S::reg(i, c)] = v; });
    }
}

// in: registers in the layout of pass P   out: a tile in memory, stored through the epilogue `ending`
template <class R, u32 P, bool Natural = false, class Ending = AsIs>
RF_FN void store_row(const typename R::M::Word* x, typename R::Store* row, u32 thread, bool live, const Ending& ending = {},
                     u32 columns = 1) {
    using S = Pass<R, P>;
    if (!live) return;
    store_runs<S::runs, S::run, row_alignment<R>>(
        ending, row, [&](u32 i) {
            if constexpr (strided_batch<R>) return S::template run_place<Natural>(thread, i, columns);
            // For 32-bit words, each store gets its own address: with a common one, the compiler moves all stores to
            // the end, where they stall.
            else if constexpr (sizeof(typename R::M::Word) == 4) return (u64)(S::run_start(thread, i) * R::stride);
            else return S::run_place(thread, i);
        },
        [&](u32 i, u32 c) { return x[S::reg(i, c)]; }, [](u32) { return true; });
}

// The part of a tile that a block has, staged in shared memory so that device memory is accessed in order and in
// vectors for every register layout. Gaps avoid bank conflicts between threads with adjacent runs.
template <class R>
struct Stage {
    using Store = typename R::Store;
    static constexpr u32 length = share_length<R>, threads = share_threads<R>;
    static constexpr u32 run_bytes = R::run * sizeof(Store);
    static constexpr u32 unit = vector_bytes(run_bytes, 16);
    static constexpr u32 gap = run_bytes / unit % 2 ? 0 : unit;
    static constexpr u32 units = length * sizeof(Store) / unit;
    static constexpr u32 bytes = length * sizeof(Store) + length / R::run * gap;
    static constexpr u32 steps = (units + threads - 1) / threads;
    // in_warps: true if each warp stages a separate part of the tile. as_cells: true if staged elements have the
    // addresses of their cells.
    using Last = Pass<R, R::passes - 1>;
    static constexpr bool in_warps = full_warps<R> && threads % 32 == 0 && R::stride == 1 && Last::sets * Last::runs == 1;
    static constexpr bool as_cells = sizeof(Store) == sizeof(typename R::Cell) && gap == R::gap * sizeof(Store);
    static_assert(threads == 1 || bytes <= R::row_bytes, "the staged limb must fit in its shared memory");

    struct alignas(unit) Unit {
        u16 halves[unit / 2];
    };
    RF_FN Store* element(unsigned char* shared, u32 i) { return (Store*)(shared + at(i * sizeof(Store))); }
    // Address at which a run of the last pass is staged.
    RF_FN Store* run(unsigned char* shared, u32 thread, u32 i) {
        using S = Pass<R, R::passes - 1>;
        if constexpr (by_bits<R>) return element(shared + at(S::run_start(thread, 0) * sizeof(Store)), S::run_start(0, i));
        else return element(shared, S::run_start(thread, i));
    }
    // Address at which the evaluation in register r is staged in natural order.
    RF_FN Store* natural(unsigned char* shared, u32 thread, u32 r) {
        using S = Pass<R, R::passes - 1>;
        u32 node = S::natural_node(thread, r / S::span / S::vector) * R::base;
        u32 inner = S::natural_inner(r % S::span) * R::base + r / S::span % S::vector;
        if constexpr (by_bits<R>) return element(shared + at(node * sizeof(Store)), inner);
        else return element(shared, node + inner);
    }
    RF_FN u32 at(u32 byte) { return byte + byte / run_bytes * gap; }
    // Index of the i-th of the `each` parts of the tile that a thread moves; adjacent threads have adjacent parts.
    RF_FN u32 part(u32 i, u32 each, u32 thread) {
        if constexpr (in_warps) return (thread / 32 * each + i) * 32 + thread % 32;
        else return i * threads + thread;
    }
    // `out` copies the tile from shared to device memory, and `in` copies it from device to shared memory.
    template <class Ending>
    RF_FN void out(unsigned char* shared, Store* row, u32 thread, const Ending& ending) {
        if constexpr (Ending::plain) {
            RF_UNROLL
            for (u32 i = 0; i < steps; i++) {
                u32 c = part(i, steps, thread);
                if (units % threads == 0 || c < units) ((Unit*)row)[c] = *(const Unit*)(shared + at(c * unit));
            }
        } else {
            // the epilogue takes whole elements
            constexpr u32 each = unit < sizeof(Store) ? 1 : unit / sizeof(Store), count = length / each;
            constexpr u32 runs = (count + threads - 1) / threads;
            store_runs<runs, each, unit>(
                ending, row, [&](u32 i) { return part(i, runs, thread) * each; },
                [&](u32 i, u32 c) { return *element(shared, part(i, runs, thread) * each + c); },
                [&](u32 i) { return count % threads == 0 || part(i, runs, thread) < count; });
        }
    }
    RF_FN void in(unsigned char* shared, const Store* row, u32 thread) {
        RF_UNROLL
        for (u32 i = 0; i < steps; i++) {
            u32 c = part(i, steps, thread);
            if (units % threads == 0 || c < units) *(Unit*)(shared + at(c * unit)) = ((const Unit*)row)[c];
        }
    }
};

// Staging for the tiles of a block whose evaluations are interleaved in memory: in natural order, leaf k of one tile is
// adjacent to leaf k of the next tile. Evaluations are staged by leaf position, so that accesses to device memory are
// contiguous across tiles.
template <class R>
struct Across {
    using Store = typename R::Store;
    static constexpr u32 places = R::length / R::base, wide = R::tile * R::base;
    static constexpr u32 pitch = wide | 1;  // odd, against bank conflicts between positions
    static constexpr u32 block = R::tile * R::threads;

    // Address at which the evaluation in register r of a thread is staged; `slot` is the index of the tile in the
    // block.
    RF_FN Store* at(Store* stage, u32 slot, u32 thread, u32 r) {
        using S = Pass<R, R::passes - 1>;
        Store* node = stage + (S::natural_node(thread, r / S::span / S::vector) * pitch + slot * R::base);
        return node + S::natural_inner(r % S::span) * pitch + r / S::span % S::vector;
    }
    // Calls move(staged, memory) with the two offsets of each element that this thread moves; `memory` counts from the
    // first evaluation of the block's first tile.
    template <class F>
    RF_FN void each(F move) {
        RF_UNROLL
        for (u32 i = 0; i < places * wide; i += block) {
            // the compile-time part of an index is separated if the step size is a multiple of a position's width
            constexpr bool whole = block % wide == 0;
            u32 known = whole ? i / wide : 0, c = (whole ? 0 : i) + threadIdx.x, place = c / wide;
            if (places * wide % block == 0 || i + threadIdx.x < places * wide)
                move((u64)(place * pitch + c % wide) + known * pitch,
                     (u64)(place * (R::above * R::base) + c % wide) + known * (R::above * R::base));
        }
    }
};

// in: the evaluations of a tile (its part in this block) in memory, leaves in natural order if Natural
// out: registers in the layout of the last pass
// All threads of the tile must call it. If shared memory is in use, they must first meet at sync_row.
template <class R, bool Natural>
RF_FN void load_values(typename R::M::Word* x, const typename R::Store* row, u32 thread, bool live,
                       unsigned char* shared, u32 columns = 1) {
    using S = Pass<R, R::passes - 1>;
    using Word = typename R::M::Word;
    static_assert(R::cluster == 1 || !Natural, "clusters do not support natural order");
    if constexpr (R::cluster > 1) thread %= share_threads<R>;
    if constexpr (stands_apart<R> || (R::threads == 1 && !Natural)) {
        load_row<R, R::passes - 1, Natural>(x, row, thread, live, columns);
    } else if constexpr (Natural && R::above > 1) {
        u32 slot = threadIdx.x / R::threads;
        auto* stage = (typename R::Store*)(shared - slot * (R::row_bytes + R::extra));
        const auto* memory = row - slot * R::base;
        Across<R>::each([&](u64 staged, u64 place) { stage[staged] = memory[place]; });
        __syncthreads();
        RF_UNROLL
        for (u32 r = 0; r < R::per_thread; r++) x[r] = word_of<Word>(*Across<R>::at(stage, slot, thread, r));
        __syncthreads();  // if a tile lies in one warp, later barriers cover only its lanes
    } else {
        if (live) Stage<R>::in(shared, row, thread);
        sync_near<R, Stage<R>::in_warps && !Natural>();
        if constexpr (Natural) {
            RF_UNROLL
            for (u32 r = 0; r < R::per_thread; r++) x[r] = word_of<Word>(*Stage<R>::natural(shared, thread, r));
        } else {
            RF_UNROLL
            for (u32 i = 0; i < S::runs; i++) {
                Move<typename R::Store, S::run, Stage<R>::unit>::template load<Word>(
                    Stage<R>::run(shared, thread, i), [&](u32 c, Word v) { x[S::reg(i, c)] = v; });
            }
        }
    }
}

// in: evaluations in the layout of the last pass
// out: a tile in memory, leaves in natural order if Natural, stored through the epilogue `ending`
// All threads of the tile must call it. Shared memory may still be in use, because the function begins with a barrier.
// It leaves the barrier out if ntt_forward used shared memory last (`Exchanged`) and staged elements have the addresses
// of their cells.
template <class R, bool Natural, bool Exchanged = false, class Ending = AsIs>
RF_FN void store_values(const typename R::M::Word* x, typename R::Store* row, u32 thread, bool live,
                        unsigned char* shared, const Ending& ending = {}, u32 columns = 1) {
    using S = Pass<R, R::passes - 1>;
    using Store = typename R::Store;
    static_assert(R::cluster == 1 || !Natural, "clusters do not support natural order");
    if constexpr (R::cluster > 1) thread %= share_threads<R>;
    if constexpr (stands_apart<R> || (R::threads == 1 && !Natural)) {
        store_row<R, R::passes - 1, Natural>(x, row, thread, live, ending, columns);
    } else if constexpr (Natural && R::above > 1) {
        u32 slot = threadIdx.x / R::threads;
        auto* stage = (Store*)(shared - slot * (R::row_bytes + R::extra));
        __syncthreads();
        RF_UNROLL
        for (u32 r = 0; r < R::per_thread; r++) *Across<R>::at(stage, slot, thread, r) = element_of<Store>(x[r]);
        __syncthreads();
        Across<R>::each([&](u64 staged, u64 place) {
            store_run<1, sizeof(Store)>(ending, row, (i64)place - slot * R::base, [&](u32) { return stage[staged]; });
        });
    } else {
        if constexpr (Natural || !Exchanged || !Stage<R>::as_cells) sync_row<R>();
        if constexpr (Natural) {
            RF_UNROLL
            for (u32 r = 0; r < R::per_thread; r++) *Stage<R>::natural(shared, thread, r) = element_of<Store>(x[r]);
        } else {
            RF_UNROLL
            for (u32 i = 0; i < S::runs; i++) {
                Move<Store, S::run, Stage<R>::unit>::store(Stage<R>::run(shared, thread, i),
                                                           [&](u32 c) { return x[S::reg(i, c)]; });
            }
        }
        sync_near<R, Stage<R>::in_warps && !Natural>();
        if (live) Stage<R>::out(shared, row, thread, ending);
    }
}

// Index in shared memory of the cell of a coefficient. R::gap cells stay free after every R::run cells, so that threads
// whose coefficients have stride R::run use different banks. Tiles that are interleaved in device memory are
// interleaved in shared memory, too.
template <class R>
RF_FN u32 cell(u32 coeff) {
    return (coeff + coeff / R::run * R::gap) * (stands_apart<R> ? R::tile * R::vector : 1);
}
// in: the cells of a tile   out: the cell of coefficient c of a thread's run i in pass S
template <class R, class S>
RF_FN typename R::Cell* cell_at(typename R::Cell* cells, u32 thread, u32 i, u32 c) {
    if constexpr (by_bits<R>) return cells + cell<R>(S::run_start(thread, 0)) + cell<R>(S::run_start(0, i) + c);
    else return cells + cell<R>(S::run_start(thread, i) + c);
}

// out: x of the lane whose number differs from the calling lane's in the bits `bits`
RF_FN u32 from_lane(u32 x, u32 bits) { return __shfl_xor_sync(0xffffffff, x, bits); }
RF_FN u64 from_lane(u64 x, u32 bits) { return join(from_lane(low(x), bits), from_lane(high(x), bits)); }
RF_FN double from_lane(double x, u32 bits) { return double_of(from_lane(bits_of(x), bits)); }

// The exchange between two passes of a tile that lies in a warp, as a transposition by shuffles. For each bit of the
// thread number, two threads that differ in this bit swap registers. The thread with the bit set gives its registers
// whose number has the bit clear, and gets the other thread's registers whose number has the bit set.
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

// The exchange between the blocks of a cluster, between the first and the second pass. Each thread writes a residue to
// the shared memory of the block that processes it next, so that all reads are local. A set of the first pass leaves
// `span` residues under different nodes; each block takes `each` of these nodes.
template <class R>
struct Handed {
    using First = Pass<R, 0>;
    using Second = Pass<R, 1>;
    using Word = typename R::M::Word;
    using Cell = typename R::Cell;
    static constexpr u32 each = First::span / R::cluster, threads = share_threads<R>;
    static_assert(First::span % R::cluster == 0 && First::vector == 1, "the first pass must divide the row among the blocks");
    static_assert(R::passes > 2, "clusters need three passes: the inverse frees cells by the exchange to pass 1");
    static_assert(Second::sets == 1 && Second::span == R::per_thread, "a block must have whole nodes of the second pass");

    // in: registers in the layout of pass 0   out: cells in the layout of pass 1
    RF_FN void down(const Word* x, Cell* cells, u32 thread) {
        RF_UNROLL
        for (u32 block = 0; block < R::cluster; block++) {
            Cell* there = in_block(cells, block);
            RF_UNROLL
            for (u32 i = 0; i < First::sets * each; i++) {
                u32 set = i / each, k = i % each;
                there[cell<R>(set * R::threads + thread + k * First::stride)] = x[set * First::span + block * each + k];
            }
        }
    }
    // in: registers in the layout of pass 1   out: cells in which the registers of a thread in pass 0 have stride
    //     `threads`
    RF_FN void up(const Word* x, Cell* cells, u32 thread) {
        u32 node = thread / Second::stride, column = thread % Second::stride;
        RF_UNROLL
        for (u32 block = 0; block < R::cluster; block++) {
            Cell* there = in_block(cells, block);
            RF_UNROLL
            for (u32 r = 0; r < R::per_thread; r++) {
                constexpr u32 apart = Second::stride;
                if (r * apart % R::threads / threads != block) continue;
                u32 set = r * apart / R::threads;
                there[(set * First::span + node) * threads + r * apart % threads + column] = x[r];
            }
        }
    }
    RF_FN void take(Word* x, const Cell* cells, u32 thread) {
        RF_UNROLL
        for (u32 r = 0; r < R::per_thread; r++) x[r] = cells[r * threads + thread % threads];
    }
};

// True if residues stay in their warp between two passes. If each thread has all its residues under one node in both
// passes, only threads under the same node of the upper pass exchange residues.
template <class R, u32 From, u32 To>
RF_CONST bool stays_in_warp() {
    using Upper = Pass<R, From < To ? From : To>;
    constexpr u32 lanes = Upper::stride / Upper::near * (stands_apart<R> ? R::tile : 1);
    return full_warps<R> && Pass<R, From>::sets * Pass<R, To>::sets == 1 && 32 % lanes == 0;
}

// in: registers in the layout of pass From, residues that fit a cell   out: registers in the layout of pass To
// All threads of the tile must call it. It begins with a barrier, because shared memory may still be in use. The
// barrier is left out directly after an exchange to pass From (`Exchanged`), because each thread then overwrites only
// cells that it has read itself. The tiles of all `Items` items are exchanged at once.
template <class R, u32 From, u32 To, bool Exchanged, u32 Items = 1>
RF_FN void exchange(typename R::M::Word* x, unsigned char* shared, u32 thread) {
    using F = Pass<R, From>;
    using T = Pass<R, To>;
    using Word = typename R::M::Word;
    using Cell = typename R::Cell;
    if constexpr (R::shuffles) return exchange_lanes<R>(x, thread);
    constexpr bool among_blocks = R::cluster > 1 && (From == 0 || To == 0);
    constexpr u32 align = (stands_apart<R> ? R::vector : R::gap ? R::gap : R::run) * sizeof(Cell);
    constexpr u32 from = stands_apart<R> || R::run % F::run == 0 ? F::run : 1;
    constexpr u32 to = stands_apart<R> || R::run % T::run == 0 ? T::run : 1;
    Cell* cells = (Cell*)shared;
    constexpr u32 apart = R::row_bytes / sizeof(Cell);  // stride between items, in cells
    const u32 own = R::cluster > 1 ? thread % share_threads<R> : thread;
    if constexpr (among_blocks) {
        // other blocks may not have started yet, or may still be reading their cells
        wait_for_cluster<R>();
        if constexpr (From == 0) Handed<R>::down(x, cells, thread);
        else Handed<R>::up(x, cells, thread);
        sync_cluster<R>();
        if constexpr (To == 0) return Handed<R>::take(x, cells, thread);
    } else {
        if constexpr (!Exchanged) sync_row<R>();
        RF_UNROLL
        for (u32 i = 0; i < R::per_thread / from * Items; i++) {
            u32 item = i / (R::per_thread / from), run = i % (R::per_thread / from) / (F::run / from);
            u32 first = i % (F::run / from) * from;
            Move<Cell, from, align>::store(cell_at<R, F>(cells, own, run, first) + item * apart,
                                           [&](u32 c) { return x[item * R::per_thread + F::reg(run, first + c)]; });
        }
        sync_near<R, stays_in_warp<R, From, To>()>();
    }
    RF_UNROLL
    for (u32 i = 0; i < R::per_thread / to * Items; i++) {
        u32 item = i / (R::per_thread / to), run = i % (R::per_thread / to) / (T::run / to);
        u32 first = i % (T::run / to) * to;
        Move<Cell, to, align>::template load<Word>(cell_at<R, T>(cells, own, run, first) + item * apart,
                                                   [&](u32 c, Word v) { x[item * R::per_thread + T::reg(run, first + c)] = v; });
    }
    if constexpr (R::cluster > 1 && From == 2 && To == 1) pass_cluster<R>();
}

}  // namespace rf
