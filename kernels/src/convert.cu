// RNS base conversion: residues modulo p_j from residues modulo q_i, whose product is Q.
//
// x is a sum of digits times weights. Exact (Garner): mixed-radix digits with weight_i = q_0 ... q_(i-1); each digit is
// computed from x_i and the digits before it. Fast (BEHZ, eprint 2016/510): weight_i = Q/q_i and digit_i = x_i
// weight_i^-1 mod q_i, exact up to a multiple of Q.
//
// Roofline bound for a coefficient from k moduli to l, of 64 bits: 8 (k + l) bytes of memory traffic; k products and l
// sums of k products; if exact, k (k - 1) / 2 products more. A product takes 8 issue slots of the multiplier. Each of
// the first k products and each sum takes a remainder of 11 slots, or two if the digits may sum to more than 2^64. For
// moduli below 2^60 a product takes 6 slots and a remainder 10; for moduli below 2^30, 2 and 7.
#include "multiples.cuh"
#include "packed.cuh"
#include "spread.cuh"
#include "sum30.cuh"
#include "sum60.cuh"
#include "prelude.cuh"
using namespace rf;

// The rows that a digit is converted to. A ModUp cuts the `limbs` limbs of an element into `digits` digits of K limbs
// each, of which the last may have fewer, and converts each to all `all` moduli but its own; the first `limbs` of them are
// the element's. Rows of the same modulus are adjacent, in the order of the digits. A plain conversion has one digit.
struct Rows {
    u32 limbs, all, digits, digit, own, end;  // own, end: the digit's own limbs

    RF_METHOD Rows(u32 group, u32 limbs, u32 all, u32 digit)
        : limbs(limbs), all(all), digits((limbs + group - 1) / group), digit(digit), own(digit * group),
          end(min_word(own + group, limbs)) {}
    // Number of moduli that the digit is converted to.
    RF_METHOD u32 targets() const { return all - (end - own); }
    // The row of the j-th of these moduli.
    RF_METHOD u32 row(u32 j) const {
        const u32 limb = j < own ? j : j + (end - own);
        return limb < limbs ? limb * (digits - 1) + digit - (j < own) : limb * digits - limbs + digit;
    }
};

// Destination of the residues of a thread's adjacent coefficients.
struct Output {
    Rows rows;
    Epilogue epilogue;
    Rns::To* out;
    u64 distance, item;
    u32 coefficient;  // index of the first of the adjacent coefficients

    // in: x, the residues of the adjacent coefficients modulo the j-th modulus that the digit is converted to
    RF_METHOD void store(u32 j, const u64* x) const {
        const u32 row = rows.row(j);
        auto offset = [&](u64 apart) { return item * apart + (u64)row * Rns::n + coefficient; };
        auto ending = epilogue.of_row(row, offset);
        store_run<Rns::lanes, Rns::lanes * sizeof(Rns::To)>(ending, out + offset(distance), 0,
                                                            [&](u32 v) { return (Rns::To)x[v]; });
    }
};

// Types for sums of a few products of numbers below 2^60, or below 2^30 if Short.
template <bool Short>
struct Sums {
    using Digit = Halves;
    using Sum = Sum60;
    using Divisor = Divisor60;

    // in: x < 2^64, c < q, quotient = floor(2^64 c / q)   out: x c mod q
    RF_FN Halves times(Halves x, u64 c, u64 quotient, u64 q) { return Halves(Divisor63{q}.mul(x.whole(), {c, quotient})); }
};
template <>
struct Sums<true> {
    using Digit = Short;
    using Sum = Sum30;
    using Divisor = Divisor30;

    // in: x < 2^32, c < q, quotient = floor(2^32 c / q)   out: x c mod q   (the quotient is exact or one less)
    RF_FN Short times(Short x, u64 c, u64 quotient, u64 q) {
        u32 r = x.x * low(c) - mul_hi(x.x, low(quotient)) * low(q);
        return Short(sub_once(r, low(q)));
    }
};

// Converts from K moduli below 2^60 (below 2^30 if Rns::is_short), with the digits of Rns::lanes coefficients in
// registers.
// Table of a digit: if fast, for each q_i the modulus, the factor of its digit, floor(2^64 factor / q_i) (2^32 if
// Rns::is_short) and 0. Then, if exact for each q_i, and always for each p_j, a record of 4 + K words, padded to an even
// number:
//  1. d, ratio, shift;
//  2. for q_i the digit of floor(Q/2), for p_j -Q mod p_j times 2^shift;
//  3. the weights of the sum, times 2^shift and in halves: for q_i those that give its digit from the earlier digits
//  and x_i, for p_j those of all digits.
// A digit with fewer moduli has factors and weights 0 for the others.
template <u32 K>
RF_FN void convert_few(const Rns::From* from, const u64x2* table, const Output& to, u32 part) {
    using Of = Sums<Rns::is_short>;
    constexpr u32 pairs = (5 + K) / 2, lanes = Rns::lanes;
    u64 words[2 * pairs];
    const u64 &constant = words[3], *weights = words + 4;
    auto next = [&] {
        RF_UNROLL
        for (u32 i = 0; i < pairs; i++) words[2 * i] = table[i].x, words[2 * i + 1] = table[i].y;
        table += pairs;
        return typename Of::Divisor{words[0], words[1], (u32)words[2]};
    };
    const Rows& rows = to.rows;
    // each digit before this one has K moduli
    if constexpr (!Rns::exact) table += rows.digit * (2 * K + (rows.all - K) * pairs);
    typename Of::Digit digits[K][lanes];
    u32 above_half[lanes] = {};
    RF_UNROLL
    for (u32 i = 0; i < K; i++)
        Move<Rns::From, lanes, lanes * sizeof(Rns::From)>::template load<u64>(
            from + (u64)min_word(rows.own + i, rows.limbs - 1) * Rns::n,
            [&](u32 v, u64 x) { digits[i][v] = typename Of::Digit(x); });
    RF_UNROLL
    for (u32 i = 0; i < K; i++) {
        if constexpr (Rns::exact) {
            auto q = next();
            RF_UNROLL
            for (u32 v = 0; v < lanes; v++) {
                typename Of::Sum sum(0);
                RF_UNROLL
                for (u32 j = 0; j <= i; j++) sum.add(digits[j][v], weights[j]);
                u64 digit = q.rem(sum);
                above_half[v] = (u32)(digit > constant) | ((u32)(digit == constant) & above_half[v]);
                digits[i][v] = typename Of::Digit(digit);
            }
        } else {
            const u64x2 q = table[0], quotient = table[1];
            RF_UNROLL
            for (u32 v = 0; v < lanes; v++)
                digits[i][v] = Of::times(digits[i][v], q.y, quotient.x, q.x);
            table += 2;
        }
    }
    const u32 targets = rows.targets(), each = (targets + Rns::parts - 1) / Rns::parts, begin = part * each;
    const u32 end = min_word(begin + each, targets);
    table += begin * pairs;
    RF_LOOP
    for (u32 j = begin; j < end; j++) {
        auto p = next();
        u64 x[lanes];
        RF_UNROLL
        for (u32 v = 0; v < lanes; v++) {
            typename Of::Sum sum(Rns::centred ? select(above_half[v], constant, 0ull) : 0);
            RF_UNROLL
            for (u32 i = 0; i < K; i++) sum.add(digits[i][v], weights[i]);
            x[v] = p.rem(sum);
        }
        to.store(j, x);
    }
}

// Converts from any moduli, with the digits in shared memory.
// Table of a digit: for each q_i d, reciprocal, shift (`Divisor`), weight_i^-1, the digit of floor(Q/2), and if exact the weights
// of the earlier digits; for each p_j d, reciprocal, shift, Q mod p_j, the weights of all digits.
RF_FN void convert_many(const Rns::From* from, const u64* table, const Output& to, u32 group, u64* digits) {
    constexpr u32 stride = Cells::threads;
    const Rows& rows = to.rows;
    const u32 sources = rows.end - rows.own, targets = rows.targets();
    if constexpr (!Rns::exact) table += rows.digit * (5 * group + (rows.all - group) * (4 + group));
    from += (u64)rows.own * Rns::n;
    u32 above_half = 0;
    for (u32 i = 0; i < sources; i++) {
        Divisor q{table[0], table[1], (u32)table[2]};
        u64 x = from[(u64)i * Rns::n];
        if constexpr (Rns::exact)
            x = sub_mod(x, weighted_sum<Rns::narrow>(digits, stride, table + 5, i, q), q.modulus());
        u64 digit = q.mul(x, table[3]), half = table[4];
        above_half = (u32)(digit > half) | ((u32)(digit == half) & above_half);
        digits[i * stride] = digit;
        table += 5 + (Rns::exact ? i : 0);
    }
    u32 negative = Rns::centred ? above_half : 0;
    for (u32 j = 0; j < targets; j++) {
        Divisor p{table[0], table[1], (u32)table[2]};
        u64 x = weighted_sum<Rns::narrow>(digits, stride, table + 4, sources, p);
        x = sub_mod(x, select(negative, table[3], 0ull), p.modulus());
        to.store(j, &x);
        table += 4 + sources;
    }
}

// Resident threads per multiprocessor for which the registers suffice.
constexpr u32 resident = Rns::fewest == 0 ? Cells::threads : Rns::fewest <= 3 || Rns::is_short ? 1024 : Rns::fewest == 5 ? 640 : 512;

extern "C" __global__ void __launch_bounds__(Cells::threads, resident / Cells::threads)
    convert(const Rns::From* in, const u64* table, Rns::To* out, Epilogue epilogue, u64 group, u64 limbs, u64 all,
            u64 in_distance, u64 out_distance, u64 first, u64 end) {
    RF_SHARED(shared);
    Spread<Cells> at(first, end);
    if (!at.live) return;
    constexpr u32 cells = Rns::n / Rns::lanes;
    const u32 coefficient = at.cell % cells * Rns::lanes, part = at.cell / cells;
    const Rows rows((u32)group, (u32)limbs, (u32)all, part / Rns::parts);
    const Rns::From* from = in + at.item * in_distance + coefficient;
    const Output to{rows, epilogue, out, out_distance, at.item, coefficient};
    if constexpr (Rns::fewest == 0) {
        convert_many(from, table, to, (u32)group, (u64*)shared + threadIdx.x);
    } else {
        const u64x2* records = (const u64x2*)table;
        switch ((u32)group - Rns::fewest) {
            case 0: return convert_few<Rns::fewest>(from, records, to, part % Rns::parts);
            default: return convert_few<Rns::fewest + 1>(from, records, to, part % Rns::parts);
        }
    }
}
