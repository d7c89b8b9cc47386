// Verifies signatures, one thread per item: computes R = s G + t P and checks that the x coordinate of R is r - e
// modulo n. P is the public key, and t = r + s mod n. Variable-time, because all inputs are public.
#include "sm2.cuh"
#include "prelude.cuh"
using namespace sm2;

// Sets `table` to the table of the item's public key: the item's own table, or the cached table with the item's number.
// Returns `fine`, or the error of the key. Returns `not_reached` if the item's own table belongs to another key,
// because this table would verify the other key's signatures.
RF_FN u32 find_table(const u256* keys, u64 item, const Affine* tables, const Affine*& table) {
    Affine key;
    table = tables + item * (1u << (Task::Keys::width - 1));
    if (!load_point(keys + 2 * item, key)) return public_key_point;
    return is_equal(table->x, key.x) & is_equal(table->y, key.y) ? fine : not_reached;
}
RF_FN u32 find_table(const u32* numbers, u64 item, const Affine* tables, const Affine*& table) {
    const u32 good = numbers[item] < Task::cached;
    table = tables + (u64)(good ? numbers[item] : 0) * (Task::Keys::rows << (Task::Keys::width - 1));
    return good ? fine : public_key_point;
}

extern "C" __global__ void __launch_bounds__(Task::threads, Task::resident)
    sm2_verify(const Task::Key* keys, const u256* digests, const u256* signatures, const Affine* base_table,
               const Affine* key_tables, u32* statuses, u64 first, u64 end) {
    using Base = Task::Base;
    using Keys = Task::Keys;
    constexpr u32 base_row = 1u << (Base::width - 1), key_row = 1u << (Keys::width - 1);
    const u64 item = first + (u64)blockIdx.x * Task::threads + threadIdx.x;
    if (item >= end) return;

    u32 status = fine;
    const Affine* key_table;
    OddScalar of_key, of_base;
    {
        const u256 r = load_be(signatures + 2 * item), s = load_be(signatures + 2 * item + 1);
        const u256 t = Fn::add(modulo_n(r), modulo_n(s));
        of_key = odd_scalar(t, Fn::modulus()), of_base = odd_scalar(s, Fn::modulus());
        if (is_zero(t)) status = signature_wrong;
        if (!(is_scalar(r) & is_scalar(s))) status = signature_range;
        const u32 found = find_table(keys, item, key_tables, key_table);
        if (found != fine) status = found;
    }
    if (status != fine) {
        statuses[item] = status;
        return;
    }

    Jacobian sum = {Fp::one(), Fp::one(), Fp::zero()};
    // Adds t P, then s G. A key table with a single row is used for all windows, from the highest, with doublings
    // between them; a whole table is used row by row.
    RF_LOOP
    for (u32 step = 0; step < Keys::windows + Base::rows; step++) {
        Affine term;
        if (step < Keys::windows) {
            const u32 window = Keys::rows == 1 ? Keys::windows - 1 - step : step;
            Digit digit = digit_of(of_key, window, Keys::windows, Keys::width);
            if constexpr (Keys::rows == 1) {
                RF_LOOP
                for (u32 i = 0; i < Keys::width && step > 0; i++) sum = double_point<Fp>(sum);
                term = look_up(key_table, digit.place);
            } else {
                term = look_up(key_table + window * key_row, digit.place);
            }
            term = negate_if<Fp>(digit.opposite, term);
        } else {
            const u32 row = step - Keys::windows;
            Digit digit = digit_of(of_base, row, Base::rows, Base::width);
            term = negate_if<Fp>(digit.opposite, look_up(base_table + row * base_row, digit.place));
        }
        if constexpr (Keys::rows == 1) sum = add_public<Called<Fp>>(sum, term);  // calls products instead of inlining them
        else sum = add_public<Fp>(sum, term);
    }

    // the x coordinate of the sum must be c = r - e mod n, or c + n if c + n is below p; comparing X with c Z^2 or (c +
    // n) Z^2 needs no inversion
    const u256 c = Fn::sub(load_be(signatures + 2 * item), modulo_n(load_be(digests + item)));
    const u256 zz = Fp::square(sum.z), n = Fn::modulus();
    u256 other;
    const u32 carry = add_limbs<8>(other.limb, c.limb, n.limb);
    u32 right = is_equal(Fp::mul(Fp::to_montgomery(c), zz), sum.x);
    if (!carry && Fp::is_reduced(other)) right |= is_equal(Fp::mul(Fp::to_montgomery(other), zz), sum.x);
    statuses[item] = right && !is_zero(sum.z) ? fine : signature_wrong;
}
