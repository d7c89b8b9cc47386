// RNS base conversion: residues modulo p_j from residues modulo q_i, whose product is Q.
//
// x is a sum of digits times weights. Exact (Garner): mixed-radix digits with weight_i = q_0 ... q_(i-1); each digit is
// computed from x_i and the digits before it. Fast (BEHZ, eprint 2016/510): weight_i = Q/q_i and digit_i = x_i
// weight_i^-1 mod q_i, exact up to a multiple of Q.
//
// Roofline bound for a coefficient from k moduli to l, of 64 bits: 8 (k + l) bytes of memory traffic; k products and l
// sums of k products; if exact, k (k - 1) / 2 products more. A product takes 8 issue slots of the multiplier. Each of
// the first k products and each sum takes a remainder of 11 slots, or two if the digits may sum to more than 2^64. For
// odd moduli below 2^60 a product takes 6 slots and a remainder 10; for odd moduli below 2^30, 2 and 3.
#include "multiples.cuh"
#include "packed.cuh"
#include "spread.cuh"
#include "sum30.cuh"
#include "sum60.cuh"
#include "prelude.cuh"
using namespace rf;

// The rows that a digit is converted to. A ModUp cuts the `limbs` limbs of an element into `digits` digits of K limbs
// each; the last may have fewer. It converts each digit to all `all` moduli but its own. The first `limbs` of the moduli
// are the element's. Rows of the same modulus are adjacent, in the order of the digits. A plain conversion has one digit.
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
    using Number = Halves;
    using Sum = Sum60;
    using Vector = u64x2;
    static constexpr u32 lead = 3;

    RF_FN Modulus60 modulus(const u64* words) { return {Halves(words[0]), (u32)words[1]}; }
    RF_FN u64 constant(const u64* words) { return words[2]; }
    // Adds the product number `i`.
    RF_FN void add(Sum60& sum, u32 i, Halves x, u64 weight) {
        if (i > 0 && i % Sum60::carry_after == 0) sum.carry();
        sum.add(x, weight);
    }
    template <u32 K>
    RF_FN u64 reduce(const Modulus60& q, const Sum60& sum) {
        return q.reduce<Rns::sum_bits>(sum);
    }
    RF_FN void unpack(Vector vector, u64* words) { words[0] = vector.x, words[1] = vector.y; }
};
template <>
struct Sums<true> {
    using Number = Short;
    using Sum = Sum30;
    using Vector = u32x4;
    static constexpr u32 lead = 4;

    RF_FN Modulus30 modulus(const u32* words) { return {words[0], words[1]}; }
    RF_FN u32 constant(const u32* words) { return words[2]; }
    RF_FN void add(Sum30& sum, u32, Short x, u32 weight) { sum.add(x, weight); }
    template <u32 K>
    RF_FN u32 reduce(const Modulus30& q, const Sum30& sum) {
        return q.reduce<K>(sum);
    }
    RF_FN void unpack(Vector vector, u32* words) {
        words[0] = vector.x, words[1] = vector.y, words[2] = vector.z, words[3] = vector.w;
    }
};

// The constants of a row of `Count` words, read as vectors.
template <u32 Count>
struct Record {
    using Of = Sums<Rns::is_short>;
    using Word = typename Of::Sum::Weight;
    static constexpr u32 per_vector = sizeof(typename Of::Vector) / sizeof(Word), vectors = (Count + per_vector - 1) / per_vector;

    Word words[vectors * per_vector];

    // in: the table at this record   out: at the next one
    RF_METHOD void read(const typename Of::Vector*& table) {
        RF_UNROLL
        for (u32 i = 0; i < vectors; i++) Of::unpack(table[i], words + i * per_vector);
        table += vectors;
    }
};

// Converts from K odd moduli below 2^60 (below 2^30 if Rns::is_short), with the digits of Rns::lanes coefficients in
// registers.
// Table of a digit, in words of 64 bits (32 if Rns::is_short): if fast, for each q_i the modulus, the factor c of its
// digit, and floor(2^w c / q_i) for words of w bits, padded to 4. Then, if exact for each q_i, and always for each p_j, a
// record, padded to whole vectors:
//  1. the modulus, its inverse, and for q_i the digit of floor(Q/2), for p_j -Q mod p_j times R; 0 if Rns::is_short;
//  2. the weights of the sum times R = 2^60 (2^32), in halves: for q_i those that give its digit from the earlier digits
//  and x_i, for p_j those of all digits.
// A digit with fewer moduli has factors and weights 0 for the others.
// in: staged, shared memory for the records of a part's targets, used if all threads of a block have the same part
template <u32 K>
RF_FN void convert_few(const Rns::From* from, const typename Sums<Rns::is_short>::Vector* table, const Output& to, u32 part,
                       typename Sums<Rns::is_short>::Vector* staged) {
    using Of = Sums<Rns::is_short>;
    using Known = Record<4>;
    using Row = Record<Of::lead + K>;
    constexpr u32 lanes = Rns::lanes;
    const Rows& rows = to.rows;
    // each digit before this one has K moduli
    if constexpr (!Rns::exact) table += rows.digit * (K * Known::vectors + (rows.all - K) * Row::vectors);
    typename Of::Number digits[K][lanes];
    u32 above_half[lanes] = {};
    RF_UNROLL
    for (u32 i = 0; i < K; i++)
        Move<Rns::From, lanes, lanes * sizeof(Rns::From)>::template load<u64>(
            from + (u64)min_word(rows.own + i, rows.limbs - 1) * Rns::n,
            [&](u32 v, u64 x) { digits[i][v] = typename Of::Number(x); });
    RF_UNROLL
    for (u32 i = 0; i < K; i++) {
        if constexpr (Rns::exact) {
            Row row;
            row.read(table);
            const auto q = Of::modulus(row.words);
            const auto half = Of::constant(row.words);
            RF_UNROLL
            for (u32 v = 0; v < lanes; v++) {
                typename Of::Sum sum(0);
                RF_UNROLL
                for (u32 j = 0; j <= i; j++) Of::add(sum, j, digits[j][v], row.words[Of::lead + j]);
                auto digit = Of::template reduce<K>(q, sum);
                above_half[v] = (u32)(digit > half) | ((u32)(digit == half) & above_half[v]);
                digits[i][v] = typename Of::Number(digit);
            }
        } else {
            Known row;
            row.read(table);
            const auto q = Of::modulus(row.words);
            RF_UNROLL
            for (u32 v = 0; v < lanes; v++)
                digits[i][v] = typename Of::Number(q.times(digits[i][v], row.words[1], row.words[2]));
        }
    }
    const u32 targets = rows.targets(), each = (targets + Rns::parts - 1) / Rns::parts, begin = part * each;
    const u32 end = min_word(begin + each, targets);
    table += begin * Row::vectors;
    if constexpr (Rns::n / Rns::lanes % Cells::threads == 0) {
        for (u32 i = threadIdx.x; i < (end - begin) * Row::vectors; i += Cells::threads) staged[i] = table[i];
        __syncthreads();
        table = staged;
    }
    RF_LOOP
    for (u32 j = begin; j < end; j++) {
        Row row;
        row.read(table);
        const auto p = Of::modulus(row.words);
        const auto constant = Of::constant(row.words);
        u64 x[lanes];
        RF_UNROLL
        for (u32 v = 0; v < lanes; v++) {
            typename Of::Sum sum(Rns::centred ? select(above_half[v], constant, (typename Of::Sum::Weight)0) : 0);
            RF_UNROLL
            for (u32 i = 0; i < K; i++) Of::add(sum, i, digits[i][v], row.words[Of::lead + i]);
            x[v] = Of::template reduce<K>(p, sum);
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
constexpr u32 resident = Rns::fewest == 0 ? Cells::threads
    : Rns::fewest <= (Rns::is_short ? 5 : 1) ? 1024 : Rns::fewest <= (Rns::is_short ? 9 : 3) ? 768 : 512;

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
        using Vector = typename Sums<Rns::is_short>::Vector;
        const auto* records = (const Vector*)table;
        switch ((u32)group - Rns::fewest) {
            case 0: return convert_few<Rns::fewest>(from, records, to, part % Rns::parts, (Vector*)shared);
            default: return convert_few<Rns::fewest + 1>(from, records, to, part % Rns::parts, (Vector*)shared);
        }
    }
}
