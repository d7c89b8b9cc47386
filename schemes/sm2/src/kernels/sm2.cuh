// The curve sm2p256v1 (GB/T 32918.5) for kernels: its fields and base point, conversion of numbers, status words, and
// the signature equations.
#pragma once
#include "curve.cuh"
#include "random.cuh"

namespace sm2 {

using namespace rf;

// The prime p, the modulus of coordinates, as the argument of `Field`.
struct P {
    static constexpr u32 limbs = 8;
    RF_CONST u32 limb(u32 i) { return i == 2 ? 0 : i == 7 ? 0xfffffffe : 0xffffffff; }
    RF_CONST u32 one(u32 i) { return i == 2 ? 0xffffffff : i == 0 || i == 7; }
    static constexpr u32 inverse = 1;
    RF_CONST u32 r2(u32 i) {
        const u32 limbs[8] = {3, 2, 0xffffffff, 2, 1, 1, 2, 4};
        return limbs[i];
    }
};
// The order n of the group.
struct N {
    static constexpr u32 limbs = 8;
    RF_CONST u32 limb(u32 i) {
        const u32 limbs[8] = {0x39d54123, 0x53bbf409, 0x21c6052b, 0x7203df6b, 0xffffffff, 0xffffffff, 0xffffffff, 0xfffffffe};
        return limbs[i];
    }
    RF_CONST u32 one(u32 i) {
        const u32 limbs[8] = {0xc62abedd, 0xac440bf6, 0xde39fad4, 0x8dfc2094, 0, 0, 0, 1};
        return limbs[i];
    }
    static constexpr u32 inverse = 0x72350975;
    RF_CONST u32 r2(u32 i) {
        const u32 limbs[8] = {0x7c114f20, 0x901192af, 0xde6fa2fa, 0x3464504a, 0x3affe0d4, 0x620fc84c, 0xa22b3d3b, 0x1eb5e412};
        return limbs[i];
    }
};
using Fp = Field<P>;
using Fn = Field<N>;

// The coefficient b of y^2 = x^3 - 3 x + b, in Montgomery form.
RF_FN u256 curve_b() {
    return {{0x2bc0dd42, 0x90d23063, 0xe9b537ab, 0x71cf379a, 0x5ea51c3c, 0x52798150, 0xba20e2c8, 0x240fe188}};
}
// The base point G, in Montgomery form.
RF_FN Affine base_point() {
    return {{{0xf418029e, 0x61328990, 0xdca6c050, 0x3e7981ed, 0xac24c3c3, 0xd6a1ed99, 0xe1c13b05, 0x91167a5e}},
            {{0x3c2d0ddd, 0xc1354e59, 0x8d3295fa, 0xc1f5e578, 0x6e2a48f8, 0x8d4cfb06, 0x81d735bd, 0x63cd65d4}}};
}

// ---- numbers as bytes ----

RF_FN u32 swap_bytes(u32 x) { return __byte_perm(x, 0, 0x0123); }

// Loads a 256-bit integer from 32 big-endian bytes at a 16-byte-aligned address.
RF_FN u256 load_be(const u256* from) {
    u256 bytes = *from, r;
    RF_UNROLL
    for (u32 i = 0; i < 8; i++) r.limb[i] = swap_bytes(bytes.limb[7 - i]);
    return r;
}
RF_FN void store_be(u256* to, const u256& x) {
    u256 bytes;
    RF_UNROLL
    for (u32 i = 0; i < 8; i++) bytes.limb[i] = swap_bytes(x.limb[7 - i]);
    *to = bytes;
}

// Returns x mod n, for any x. One subtraction suffices, because 2^256 < 2n.
RF_FN u256 modulo_n(const u256& x) { return Fn::sub_once(x, 0); }

// Returns 1 if 0 < x < n, else 0.
RF_FN u32 is_scalar(const u256& x) { return Fn::is_reduced(x) & (is_zero(x) ^ 1); }

// Decodes a public key x || y of big-endian coordinates. If both are below p and the point is on the curve, returns 1
// and sets `point`, in Montgomery form. Otherwise returns 0 and sets `point` to the base point.
RF_FN u32 load_point(const u256* from, Affine& point) {
    u256 x = load_be(from), y = load_be(from + 1);
    u32 good = Fp::is_reduced(x) & Fp::is_reduced(y);
    point = {Fp::to_montgomery(x), Fp::to_montgomery(y)};
    u256 three = Fp::add(Fp::add(point.x, point.x), point.x);
    u256 right = Fp::add(Fp::sub(Fp::mul(Fp::square(point.x), point.x), three), curve_b());
    good &= is_equal(Fp::square(point.y), right);
    Affine base = base_point();
    point = {select(good, point.x, base.x), select(good, point.y, base.y)};
    return good;
}

// ---- statuses ----

// The status words of `Sm2Error` and `ringforge_batch`; any other word is an error, too. Statuses are `not_reached`
// before the first kernel, which sets them to `pending` in all pipelines except verification. An item with status
// `retry` needs another nonce, because its nonce was rejected.
enum Status : u32 {
    fine = 0x600df17e,
    pending = 0x9e2d126a,
    not_reached = 0,
    private_key_range = 5,
    public_key_point,
    nonce_refused,
    signature_range,
    signature_wrong,
    retry = 255,
};

// ---- signatures ----

// Returns the first of a block's two 256-bit halves that is from 1 to n - 1, or 0 if neither half is. The block is
// secret.
RF_FN u256 scalar_of(const u32* block) {
    u256 first, second;
    RF_UNROLL
    for (u32 i = 0; i < 8; i++) first.limb[i] = block[i], second.limb[i] = block[8 + i];
    u256 none = Fn::zero();
    return select(is_scalar(first), first, select(is_scalar(second), second, none));
}

// Generates a random private key, or 0 if both halves of the random block are out of range. The result is secret.
RF_FN u256 draw_key(const RandomKey& random_key, u64 item) {
    u32 block[16];
    random_block(random_key, item, 0, block);
    return scalar_of(block);
}

// Generates a nonce, or 0 if both halves of the random block are out of range. `key` is (1 + d)^-1 in Montgomery form
// for the private key d, `digest` has the digest's bytes. The nonce is hedged: even if the system's randomness repeats,
// nonces for different digests or keys are independent. The result is secret.
RF_FN u256 draw_nonce(const RandomKey& random_key, u64 item, u32 attempt, const u256& key, const u256& digest) {
    u32 block[16];
    hedged_block(random_key, item, attempt, [&](u32 i) { return i < 8 ? key.limb[i] : digest.limb[i - 8]; }, block);
    return scalar_of(block);
}

// Writes k, and the point k G in Jacobian coordinates, or G if k is 0. If Complete, the last addition handles equal
// points; otherwise such a sum has Z = 0.
template <class Task, bool Complete>
RF_FN void store_multiple(const u256& k, const Affine* table, u256* scalar, Jacobian* point) {
    const u256 one = {{1, 0, 0, 0, 0, 0, 0, 0}};
    *scalar = k;
    *point = multiply_base<Fp, Task, Task::scan, Complete>(table, select(is_zero(k), one, k), Fn::modulus());
}

// Computes the signature (r, s) of a digest e. `key` is (1 + d)^-1 in Montgomery form for the private key d, and x is
// the x coordinate of k G. Returns 0 if the nonce k must be rejected, because r = 0, r + k = n or s = 0; else 1.
RF_FN u32 sign(const u256& key, const u256& e, const u256& k, const u256& x, u256& r, u256& s) {
    r = Fn::add(modulo_n(e), modulo_n(x));
    u256 sum = Fn::add(r, k);
    s = Fn::sub(Fn::mul(key, sum), r);
    return (is_zero(r) | is_zero(sum) | is_zero(s)) ^ 1;
}

}  // namespace sm2
