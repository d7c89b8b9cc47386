// Signed digits of scalars, as the keys of a sort: one thread per scalar.
//
// The first `full` windows have `width` bits, the others one bit less. Adding 2^(w - 1) to every digit of w bits but the
// top one makes all digits of a scalar independent: a digit of the sum, minus 2^(w - 1), is the signed digit.
//
// If all points have the scalars' order r, a scalar above r / 2 is replaced by its negative, and bit 31 of all its keys
// is flipped.
#include "field.cuh"
#include "prelude.cuh"
using namespace rf;

using Scalar = Field<Task::Scalars>;

// keys: for each window and each scalar, the bucket |d| - 1 of its digit d, with bit 31 set if d < 0; 2^(width - 1) for
// the digit 0. After the `given` scalars, further ones are 0. refused: one word for each block, 0 or 1 + the greatest
// `count - 1 - i` of a scalar i >= r in the block.
extern "C" __global__ void __launch_bounds__(Task::threads)
    msm_digits(const u256* scalars, u32* keys, u32* refused, u64 count, u64 given, u64 width, u64 full, u64 windows, u64 offset0,
               u64 offset1, u64 offset2, u64 offset3, u64 blocks, u64 first, u64) {
    RF_SHARED(shared);
    u32* worst = (u32*)shared;
    const u64 item = first + blockIdx.x / (u32)blocks;
    const u32 block = blockIdx.x % (u32)blocks, i = block * Task::threads + threadIdx.x;
    if (threadIdx.x == 0) worst[0] = 0;
    __syncthreads();
    if (i < count) {
        u256 s = i < given ? scalars[item * given + i] : Scalar::zero();
        if (!Scalar::is_reduced(s)) atomicMax(worst, (u32)count - i);
        if constexpr (Task::montgomery) s = Scalar::from_montgomery(s);
        u32 flipped = 0;
        if constexpr (Task::flips) {
            u256 negative, t;
            const u256 r = Scalar::modulus();
            sub_limbs<8>(negative.limb, r.limb, s.limb);
            flipped = sub_limbs<8>(t.limb, negative.limb, s.limb) & 1;
            s = select(flipped, negative, s);
        }
        const u256 offset = {{low(offset0), high(offset0), low(offset1), high(offset1), low(offset2), high(offset2),
                              low(offset3), high(offset3)}};
        u32 words[10];
        words[8] = add_limbs<8>(words, s.limb, offset.limb);
        words[9] = 0;
        const u32 none = 1u << (width - 1);
        u32 bit = 0;
        u32* to = keys + item * windows * count + i;
        RF_LOOP
        for (u32 window = 0; window < windows; window++) {
            const u32 word = bit / 32, half = window < full ? none : none / 2;
            const u32 bits = low(join(words[word], words[word + 1]) >> bit % 32) & (2 * half - 1);
            const u32 digit = bits - (window + 1 < windows ? half : 0), negative = digit >> 31;
            const u32 size = (digit ^ (0 - negative)) + negative;
            to[(u64)window * count] = size == 0 ? none : min_word(size - 1, none) | (negative ^ flipped) << 31;
            bit += (u32)width - (window < full ? 0 : 1);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) refused[item * blocks + block] = worst[0];
}
