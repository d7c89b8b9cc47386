// Transforms of polynomials of which each thread has a unit (`bits.cuh`): 16 adjacent coefficients. For rings whose last
// pass also leaves each thread with a unit, one polynomial per row. Include it after the prelude.
#pragma once
#include "bits.cuh"
#include "ntt.cuh"

namespace rf {

template <class R>
constexpr bool in_units = R::whole_warps && R::per_thread == unit && Pass<R, R::passes - 1>::run == unit &&
                          R::row_bytes >= sizeof(typename R::Store) * R::n;

// out: index of the item that the thread processes; surplus threads of the last block recompute the first item
template <class R>
RF_FN u64 item_of(const Row<R>& row, u64 first) {
    return row.live ? row.index : first;
}

// Forward NTT.   in: a thread's unit of coefficients get(c) < q   out: evaluations in the layout of the last pass, below
// ntt_forward_bound
template <class R, class Get>
RF_FN void unit_to_values(const Row<R>& row, const typename R::M::Twiddle* table, Get get, typename R::M::Word* values) {
    static_assert(in_units<R>, "a thread must hold one unit of consecutive evaluations");
    using Store = typename R::Store;
    Store* cells = (Store*)row.shared;
    sync_row<R>();
    Move<Store, unit, 16>::store(cells + row.thread * unit, get);
    sync_row<R>();
    load_row<R, 0>(values, cells, row.thread, true);
    ntt_forward<R>(R::modulus(nullptr, 0), values, table, row.shared, row.thread);
}

// Inverse NTT.   in: evaluations < 2q in the layout of the last pass, products that lack the product factor
// out: a thread's unit of coefficients < q
template <class R>
RF_FN void values_to_unit(const Row<R>& row, const typename R::M::Twiddle* table, typename R::M::Word* values,
                          u32* coefficients) {
    static_assert(in_units<R>, "a thread must hold one unit of consecutive evaluations");
    using Store = typename R::Store;
    Store* cells = (Store*)row.shared;
    ntt_inverse<R, 2, true>(R::modulus(nullptr, 0), values, table, row.shared, row.thread);
    sync_row<R>();
    store_row<R, 0>(values, cells, row.thread, true);
    sync_row<R>();
    Move<Store, unit, 16>::template load<u32>(cells + row.thread * unit, [&](u32 c, u32 x) { coefficients[c] = x; });
}

}  // namespace rf
