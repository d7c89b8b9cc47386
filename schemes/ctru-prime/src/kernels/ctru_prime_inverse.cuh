// Inversion modulo q and x^n - x - 1 by Bernstein-Yang division steps (eprint 2019/266), always 2n - 1 of them. Include
// this header after the generated header prelude.cuh.
//
// The steps and the names phi, f, v and s are those of `inverse.rs`. Each thread holds `share` adjacent coefficients of
// each of these four polynomials in registers. A step moves v up and f down by one coefficient. Coefficients that cross
// threads, and phi(0) and f(0), which all threads need, go through a mailbox in shared memory. There are two mailboxes
// (double buffering), so a step takes one barrier.
#pragma once
#include "ctru_prime_ring.cuh"

namespace rf {

struct Mailbox {
    static constexpr u32 lowest = 0, highest = Rq::threads + 1, phi = 2 * highest, f = phi + 1, size = f + 1;
};
static_assert(2 * Mailbox::size <= Rq::n, "mailboxes must fit the row");

// Barrett reduction.   in: x < 2^32   out: x mod q, < 2q
RF_FN u32 reduce_word(u32 x) { return barrett(x, q, (u32)((1ull << 32) / q)); }

// Returns 1 / x modulo q as x^(q - 2) (Fermat), for x < q.
RF_FN u32 reciprocal(u32 x) {
    u32 power = 1;
    RF_LOOP
    for (u32 bit = 16; bit > 0; bit--) {
        power = sub_once(reduce_word(power * power), q);
        if (q - 2 >> (bit - 1) & 1) power = sub_once(reduce_word(power * x), q);
    }
    return power;
}

// Replaces a nonzero polynomial by its inverse; coefficients are < q before and after. Overwrites the cells. All
// threads of the `row` must call it, after a barrier. Another barrier is needed before the result is read.
RF_FN void invert_row(const Row<Rq>& row, u16* polynomial) {
    constexpr u32 n = Set::n, share = (n + Rq::threads) / Rq::threads, steps = 2 * n - 1;
    const u32 thread = row.thread, first = thread * share;
    u32* boxes = cells_of(row);
    u32 phi[share], f[share], v[share], s[share];
    RF_UNROLL
    for (u32 r = 0; r < share; r++) {
        u32 k = first + r;
        phi[r] = k == 0 ? 1 : k == n - 1 || k == n ? q - 1 : 0;
        f[r] = k < n ? polynomial[n - 1 - k] : 0;
        v[r] = 0;
        s[r] = k == 0;
    }
    for (u32 i = thread; i < 2 * Mailbox::size; i += Rq::threads) boxes[i] = 0;
    sync_row<Rq>();
    boxes[Mailbox::lowest + thread + 1] = f[share - 1];
    if (thread == 0) {
        boxes[Mailbox::phi] = 1;
        boxes[Mailbox::f] = f[0];
    }
    sync_row<Rq>();

    i32 delta = 1;
    RF_LOOP
    for (u32 step = 0; step < steps; step++) {
        const u32* box = boxes + step % 2 * Mailbox::size;
        u32* next = boxes + (1 - step % 2) * Mailbox::size;
        f[share - 1] = box[Mailbox::lowest + thread + 1];
        u32 a = box[Mailbox::phi], b = box[Mailbox::f], below = box[Mailbox::highest + thread], lowest = 0;
        u32 swap = (u32)(-delta & -(i32)b) >> 31;  // 1 if delta > 0 and b != 0
        delta = 1 + (i32)select(swap, (u32)-delta, (u32)delta);
        a = select(swap, q - a, a);
        b = select(swap, b, q - b);
        // skips coefficients of v and s that are still zero, and those of f and phi that no later step reads
        if (first <= step) {
            RF_UNROLL
            for (u32 i = 0; i < share; i++) {
                u32 r = share - 1 - i, x = r == 0 ? below : v[r == 0 ? 0 : r - 1];
                v[r] = select(swap, s[r], x);
                s[r] = reduce_word(a * s[r] + b * x);
            }
        }
        if (first < steps - step) {
            RF_UNROLL
            for (u32 r = 0; r < share; r++) {
                u32 x = reduce_word(a * f[r] + b * phi[r]);
                phi[r] = select(swap, f[r], phi[r]);
                if (r == 0) lowest = x;
                else f[r - 1] = x;
            }
        }
        next[Mailbox::lowest + thread] = lowest;
        next[Mailbox::highest + thread + 1] = v[share - 1];
        if (thread == 0) {
            next[Mailbox::phi] = sub_once(phi[0], q);
            next[Mailbox::f] = sub_once(f[0], q);
        }
        sync_row<Rq>();
    }
    u32 unit = reciprocal(boxes[steps % 2 * Mailbox::size + Mailbox::phi]);
    RF_UNROLL
    for (u32 r = 0; r < share; r++)
        if (first + r < n) polynomial[n - 1 - first - r] = (u16)sub_once(reduce_word(unit * sub_once(v[r], q)), q);
}

}  // namespace rf
