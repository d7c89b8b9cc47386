// Quadratic extensions F[u] / (u^2 - beta) of a prime field F, where beta is a small negative integer and no square.
#pragma once
#include "field.cuh"

namespace rf {

// c0 + c1 u
template <class Word>
struct Pair {
    Word c0, c1;
};

template <class Word>
RF_FN Pair<Word> load_limbs(const Pair<Word>* x) {
    return {load_limbs(&x->c0), load_limbs(&x->c1)};
}
template <class Word>
RF_FN u32 is_zero(const Pair<Word>& a) {
    return is_zero(a.c0) & is_zero(a.c1);
}
template <class Word>
RF_FN u32 is_equal(const Pair<Word>& a, const Pair<Word>& b) {
    return is_equal(a.c0, b.c0) & is_equal(a.c1, b.c1);
}
template <class Word>
RF_FN Pair<Word> select(u32 c, const Pair<Word>& yes, const Pair<Word>& no) {
    return {select(c, yes.c0, no.c0), select(c, yes.c1, no.c1)};
}

// B = -beta, 0 < B < 16
template <class F, u32 B>
struct Quadratic {
    using Word = Pair<typename F::Word>;
    using Base = F;

    RF_METHOD static Word zero() { return {F::zero(), F::zero()}; }
    RF_METHOD static Word one() { return {F::one(), F::zero()}; }
    // in: coordinates < q   out: coordinates < q, as in all functions below
    RF_METHOD static Word add(const Word& a, const Word& b) { return {F::add(a.c0, b.c0), F::add(a.c1, b.c1)}; }
    RF_METHOD static Word sub(const Word& a, const Word& b) { return {F::sub(a.c0, b.c0), F::sub(a.c1, b.c1)}; }

    // Karatsuba: three products.
    RF_METHOD static Word mul(const Word& a, const Word& b) {
        const typename F::Word low = F::mul(a.c0, b.c0), high = F::mul(a.c1, b.c1);
        const typename F::Word cross = F::mul(F::add(a.c0, a.c1), F::add(b.c0, b.c1));
        return {F::sub(low, times(high)), F::sub(F::sub(cross, low), high)};
    }
    RF_METHOD static Word square(const Word& a) {
        const typename F::Word cross = F::mul(a.c0, a.c1);
        if constexpr (B == 1) {
            return {F::mul(F::add(a.c0, a.c1), F::sub(a.c0, a.c1)), F::add(cross, cross)};
        } else {
            return {F::sub(F::square(a.c0), times(F::square(a.c1))), F::add(cross, cross)};
        }
    }
    // out: c0^2 + B c1^2, the product of a and its conjugate
    RF_METHOD static typename F::Word norm(const Word& a) { return F::add(F::square(a.c0), times(F::square(a.c1))); }
    // in: n = 1 / norm(a)   out: 1 / a
    RF_METHOD static Word inverse_by_norm(const Word& a, const typename F::Word& n) {
        return {F::mul(a.c0, n), F::mul(F::sub(F::zero(), a.c1), n)};
    }

  private:
    // out: B x
    RF_METHOD static typename F::Word times(const typename F::Word& x) {
        typename F::Word r = x;
        RF_UNROLL
        for (u32 i = 1; i < B; i++) r = F::add(r, x);
        return r;
    }
};

}  // namespace rf
