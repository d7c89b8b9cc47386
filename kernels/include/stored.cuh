// How the residues of a ring are stored, if not in the default form: in Montgomery form, as unreduced words, or as a
// strided batch. Transforms are linear, so Montgomery form does not change them; only products need another factor.
// Unreduced words are reduced when they are loaded.
#pragma once
#include "word.cuh"

namespace rf {

// True if inputs may be any words (R::any_word, if R has this member). Otherwise inputs must be residues below q.
template <class R, class = void>
constexpr bool any_word = false;
template <class R>
constexpr bool any_word<R, decltype((void)R::any_word)> = R::any_word;

// True if elements are a strided batch (R::strided_batch, if R has this member): polynomials are the columns of
// matrices that are stored row by row. The number of columns is an argument of the launch.
template <class R, class = void>
constexpr bool strided_batch = false;
template <class R>
constexpr bool strided_batch<R, decltype((void)R::strided_batch)> = R::strided_batch;

// True if the tiles of a block are interleaved in memory, so that consecutive coefficients of a tile are not adjacent.
template <class R>
constexpr bool stands_apart = R::stride > 1 || strided_batch<R>;

// True if a reduced product of two stored residues lacks a factor (R::product_factor, if R has this member). The
// default is that of the modulus type's usual form: plain, or for 256 bits Montgomery form.
template <class R, class = void>
constexpr bool lacks_factor = R::M::wide_factor;
template <class R>
constexpr bool lacks_factor<R, decltype((void)R::product_factor)> = R::product_factor;

// in: Count residues < q, or any words if any_word<R>   out: residues, < q
template <class R, u32 Count>
RF_FN void reduce_inputs(const typename R::M& m, typename R::M::Word* x) {
    if constexpr (any_word<R>) {
        RF_UNROLL
        for (u32 i = 0; i < Count; i++) x[i] = m.reduce_any(x[i]);
    }
}

}  // namespace rf
