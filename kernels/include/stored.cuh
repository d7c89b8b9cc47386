// How the residues of a ring lie in memory, where a generated struct says more of it than its Store: in Montgomery form, as
// any words, or in columns. The first two do not change a transform, which is linear in what is stored; but products want another
// factor, and words are reduced when they are loaded.
#pragma once
#include "word.cuh"

namespace rf {

// Whether inputs are any words: R::any_word, where there is such a member. Else they are reduced.
template <class R, class = void>
constexpr bool any_word = false;
template <class R>
constexpr bool any_word<R, decltype((void)R::any_word)> = R::any_word;

// Whether polynomials are the columns of matrices that are stored row by row: R::in_columns, where there is such a member. How
// many they are is a number of the launch.
template <class R, class = void>
constexpr bool in_columns = false;
template <class R>
constexpr bool in_columns<R, decltype((void)R::in_columns)> = R::in_columns;

// Whether rows stand side by side, and coefficients of each apart.
template <class R>
constexpr bool stands_apart = R::stride > 1 || in_columns<R>;

// Whether a reduced product of two residues lacks a factor: R::product_factor, where there is such a member. Else so it is
// with residues in the form that the modulus type has for granted: plain, and of 256 bits Montgomery's.
template <class R, class = void>
constexpr bool lacks_factor = R::M::wide_factor;
template <class R>
constexpr bool lacks_factor<R, decltype((void)R::product_factor)> = R::product_factor;

// in: Count words as inputs of the ring have them   out: residues, < q
template <class R, u32 Count>
RF_FN void reduce_inputs(const typename R::M& m, typename R::M::Word* x) {
    if constexpr (any_word<R>) {
        RF_UNROLL
        for (u32 i = 0; i < Count; i++) x[i] = m.reduce_any(x[i]);
    }
}

}  // namespace rf
