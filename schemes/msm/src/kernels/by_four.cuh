// Sums by four lanes that share the products of a sum, for sums that few threads can compute at once: four products one
// after another, in place of 14. Points are in shared memory. All lanes of a warp must call the functions together,
// with __syncwarp() between two calls.
#pragma once
#include "sums.cuh"

namespace msm {

// Four lanes of a warp, and 8 words of shared memory of their own.
struct Four {
    using F = CalledCurve::F;
    using Word = F::Word;
    Word* shared;
    u32 lane;

    // out: the value of this lane
    RF_METHOD Word pick(const Word& x, const Word& y, const Word& zz, const Word& zzz) const {
        const Word first = select(lane % 2, y, x), second = select(lane % 2, zzz, zz);
        return select(lane / 2, second, first);
    }
    // Writes a lane's value to word `first + lane`, for all lanes to read. Calls alternate between the first four words and the
    // last four, so all lanes have read what was there before the call in between.
    RF_METHOD void share(u32 first, const Word& value) const {
        shared[first + lane] = value;
        __syncwarp();
    }
};

// out: coordinate number `four.lane` of 2 p, which each lane computes. A call, because with a point more in local memory
// CUDA 13.0 gives two of the caller's points one place.
RF_CALL Four::Word double_alone(Four four, const Sum* p) {
    const Sum twice = double_xyzz<CalledCurve>(*p);
    return four.pick(twice.x, twice.y, twice.zz, twice.zzz);
}

// out: coordinate number `four.lane` of p + q
RF_FN Four::Word add_by_four(Four four, const Sum* p, const Sum* q) {
    using F = Four::F;
    using Word = Four::Word;
    const u32 lane = four.lane;
    const Word *shared = four.shared, *a = &p->x, *b = &q->x;
    // p.x q.zz, q.x p.zz, p.y q.zzz, q.y p.zzz
    four.share(0, F::mul((lane % 2 ? b : a)[lane / 2], (lane % 2 ? a : b)[2 + lane / 2]));
    const Word u = shared[0], s = shared[2], dx = F::sub(shared[1], u), dy = F::sub(shared[3], s);
    // dx^2, dy^2, p.zz q.zz, p.zzz q.zzz
    four.share(4, F::mul(four.pick(dx, dy, a[lane], a[lane]), four.pick(dx, dy, b[lane], b[lane])));
    const Word pp = shared[4], squared = shared[5], zzz = shared[7];
    // u pp, dx pp, zz pp
    const Word third = F::mul(four.pick(u, dx, shared[6], u), pp);
    four.share(0, third);
    const Word v = shared[0], ppp = shared[1], x = F::sub(F::sub(F::sub(squared, ppp), v), v);
    // dy (v - x), s ppp, -, zzz ppp
    const Word fourth = F::mul(four.pick(dy, s, dy, zzz), four.pick(F::sub(v, x), ppp, ppp, ppp));
    four.share(4, fourth);
    if (is_zero(p->zz)) return b[lane];
    if (is_zero(q->zz)) return a[lane];
    if (is_zero(dx)) return is_zero(dy) ? double_alone(four, p) : F::zero();
    return four.pick(x, F::sub(shared[4], fourth), third, fourth);
}

// out: coordinate number `four.lane` of 2 p
RF_FN Four::Word double_by_four(Four four, const Sum* p) {
    using F = Four::F;
    using Word = Four::Word;
    const u32 lane = four.lane;
    const Word *shared = four.shared, *a = &p->x, u = F::add(a[1], a[1]), own = four.pick(u, a[0], a[2], u);
    // u^2, x^2, zz^2
    four.share(0, F::mul(own, own));
    const Word v = shared[0], square = shared[1];
    // u v, x v, a zz^2, zz v
    four.share(4, F::mul(four.pick(u, a[0], shared[2], a[2]), select(lane == 2, Curve::a(), v)));
    const Word w = shared[4], s = shared[5];
    Word m = F::add(F::add(square, square), square);
    if constexpr (!Curve::a_is_zero) m = F::add(m, shared[6]);
    const Word zz = shared[7];
    // m^2, w y, -, w zzz
    const Word third = F::mul(four.pick(m, w, w, w), four.pick(m, a[1], a[1], a[3]));
    four.share(0, third);
    const Word x = F::sub(F::sub(shared[0], s), s), fourth = F::mul(m, F::sub(s, x));
    return four.pick(x, F::sub(fourth, third), zz, third);
}

}  // namespace msm
