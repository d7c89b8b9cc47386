// Sums of many pairs of affine points. The prelude defines the curve `Curve` (`points.cuh`), and `Task` with the constants
// of the launch.
#pragma once
#include "block_inversion.cuh"
#include "buckets.cuh"
#include "copies.cuh"
#include "points.cuh"
#include "prelude.cuh"

namespace msm {

using F = Curve::F;
using Word = F::Word;
using Affine = Point<Word>;

// A point to be added: in memory, or infinity if `at` is null.
struct Operand {
    const Affine* at;
    u32 negative;

    // in: the point's y coordinate in memory   out: the operand's
    RF_METHOD Word signed_y(const Word& y) const { return select(negative, F::sub(F::zero(), y), y); }
    RF_METHOD Word y() const { return signed_y(load_limbs(&at->y)); }
    RF_METHOD Affine point() const { return {load_limbs(&at->x), y()}; }
};

struct Addition {
    Operand left, right;
    Affine* to;  // may be either operand
};

// Copies the operands of the next addition to shared memory that no other thread accesses.
struct Ahead {
    static constexpr u32 of_x = sizeof(Word) / 16, of_point = sizeof(Affine) / 16;
    u32x4* shared;  // for each operand, 2 Task::threads words

    RF_METHOD u32x4* at(u32 operand, u32 part) const {
        return shared + (operand * of_point + part) * Task::threads + threadIdx.x;
    }
    RF_METHOD void fetch(const Addition& a, bool whole) const {
        const Affine* const operands[2] = {a.left.at, a.right.at};
        RF_UNROLL
        for (u32 o = 0; o < 2; o++) {
            if (operands[o] == nullptr) continue;
            RF_UNROLL
            for (u32 part = 0; part < (whole ? of_point : of_x); part++)
                copy_ahead<16, true>(at(o, part), (const u32x4*)operands[o] + part);
        }
    }
    // out: a coordinate of an operand, from 16 bytes number `first` on
    RF_METHOD Word word(u32 operand, u32 first) const {
        Word r;
        RF_UNROLL
        for (u32 part = 0; part < of_x; part++) {
            const u32x4 four = load_again(at(operand, first + part));
            u32* to = (u32*)&r + 4 * part;
            to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
        }
        return r;
    }
    RF_METHOD Word x(u32 operand, const Operand& of) const { return of.at ? word(operand, 0) : infinity<Word>().x; }
    RF_METHOD Word y(u32 operand, const Operand& of) const {
        return of.at ? of.signed_y(word(operand, of_x)) : infinity<Word>().y;
    }
};

// The points of an addition, which are loaded when they are needed: this takes fewer registers.
struct Operands {
    const Ahead& ahead;
    const Addition& a;

    RF_METHOD Word x1() const { return ahead.x(0, a.left); }
    RF_METHOD Word y1() const { return ahead.y(0, a.left); }
    RF_METHOD Word x2() const { return ahead.x(1, a.right); }
    RF_METHOD Word y2() const { return ahead.y(1, a.right); }
};

// How a kernel finds its additions: `index(number)` reads a word, and `addition(number, word)` what else it needs.
template <class Index, class Make>
struct Get {
    Index index;
    Make addition;
};
template <class Index, class Make>
Get(Index, Make) -> Get<Index, Make>;

// Calls body(step, addition, go_on) for `steps` additions, whose operands (whole, or just x) are then in shared memory.
// `number(step)` is the number of an addition. When the body has read its operands, it calls go_on(), which
// fetches the next ones. What leads to operands is read one or two steps before they are fetched.
template <bool Whole, class Number, class Get, class Body>
RF_FN void in_turn(u32 steps, Number number, const Get& get, Ahead ahead, Body body) {
    if (steps == 0) return;
    Addition next = get.addition(number(0), get.index(number(0)));
    ahead.fetch(next, Whole);
    Addition second = next;
    u32 third = 0;
    if (steps > 1) second = get.addition(number(1), get.index(number(1)));
    if (steps > 2) third = get.index(number(2));
    RF_LOOP
    for (u32 step = 0; step < steps; step++) {
        const Addition now = next;
        await_copies();
        body(step, now, [&] {
            if (step + 1 >= steps) return;
            next = second;
            ahead.fetch(next, Whole);
            if (step + 2 < steps) second = get.addition(number(step + 2), third);
            if (step + 3 < steps) third = get.index(number(step + 3));
        });
    }
}

// Computes a block's share of `count` additions, which are divided equally among `together` threads, but at most
// Task::most_per_thread each; further blocks compute the rest. All threads of a block must call it; it
// needs 4 Task::threads words of shared memory. No two additions have an operand or a result in common.
template <class Get>
RF_FN void add_all(u64 count, u32 block, u32 together, void* shared, const Get& get) {
    constexpr u32 threads = Task::threads;
    const u32 per_thread = (u32)min_word((u32)((count + together - 1) / together), Task::most_per_thread);
    const u64 base = (u64)block * threads * per_thread, own = base + threadIdx.x;
    if (base >= count) return;
    const u32 steps = own < count ? (u32)min_word((u32)((count - own - 1) / threads) + 1, per_thread) : 0;
    const Ahead ahead = {(u32x4*)shared};
    Word before[Task::most_per_thread], product = F::one();
    in_turn<false>(steps, [&](u32 step) { return own + (u64)step * threads; }, get, ahead,
                   [&](u32 step, const Addition& a, auto go_on) {
                       const Word x1 = ahead.x(0, a.left), x2 = ahead.x(1, a.right);
                       go_on();
                       const auto y1 = [&] { return a.left.y(); };
                       const Case which = case_of(x1, x2, y1, [&] { return a.right.y(); });
                       before[step] = product;
                       product = F::mul(product, denominator<F>(which, x1, x2, y1));
                   });
    Word inverse = invert_in_block<F, Task::threads>(product, (Word*)shared);
    in_turn<true>(steps, [&](u32 step) { return own + (u64)(steps - 1 - step) * threads; }, get, ahead,
                  [&](u32 step, const Addition& a, auto go_on) {
                      const Operands of = {ahead, a};
                      const Word x1 = of.x1(), x2 = of.x2();
                      const auto y1 = [&] { return of.y1(); };
                      const Case which = case_of(x1, x2, y1, [&] { return of.y2(); });
                      const Word d = denominator<F>(which, x1, x2, y1), mine = F::mul(inverse, before[steps - 1 - step]);
                      inverse = F::mul(inverse, d);
                      const Affine sum = add_affine<Curve>(which, of, mine);
                      go_on();
                      *a.to = sum;
                  });
}

}  // namespace msm
