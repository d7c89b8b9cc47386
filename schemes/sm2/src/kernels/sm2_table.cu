// Computes tables of odd multiples of points P: row i of a table has the points (2j + 1) 2^(w i) P, where w is the
// window width. Uses co-Z additions (Meloni). A thread computes the tables of several points, or several threads share
// one table. An invalid key gets the table of the base point.
#include "sm2.cuh"
#include "prelude.cuh"
using namespace sm2;

extern "C" __global__ void __launch_bounds__(Task::threads) sm2_table(const u256* points, Affine* tables, u64 first, u64 end) {
    constexpr u32 row = 1u << (Task::width - 1), size = Task::rows * row;
    u256 ratios[Task::chunk * Task::per_thread], z[Task::per_thread], before[Task::per_thread];
    const u32 thread = blockIdx.x * Task::threads + threadIdx.x;
    // a table is computed in chunks of Task::chunk points; a thread has one chunk, or the whole tables of several
    // points
    constexpr u32 chunks = size / Task::chunk;
    const u64 item = first + (u64)(thread / chunks) * Task::per_thread;
    const u32 place = thread % chunks * Task::chunk;
    u32 count = 0;
    RF_LOOP
    for (u32 i = 0; i < Task::per_thread; i++) {
        if (item + i >= end) break;
        Affine base;
        load_point(points + (Task::shared ? 0 : 2 * (item + i)), base);
        if (place >= row) {
            Jacobian high = from_affine<Fp>(base);
            RF_LOOP
            for (u32 bit = 0; bit < place / row * Task::width; bit++) high = double_point<Fp>(high);
            u256 inverse = Fp::inverse(high.z), square = Fp::square(inverse);
            base = {Fp::mul(high.x, square), Fp::mul(high.y, Fp::mul(square, inverse))};
        }
        Affine* to = tables + (item + i) * size + place;
        u256* ratio = ratios + i * Task::chunk;
        z[i] = odd_multiples<Fp>(base, place % row, Task::chunk, [&](u32 j, const u256& x, const u256& y, const u256& of_z) {
            to[j] = {x, y};
            ratio[j] = of_z;
        });
        count++;
    }
    if (count == 0) return;
    invert_all<Fp>(z, before, count);
    RF_LOOP
    for (u32 i = 0; i < count; i++) {
        Affine* to = tables + (item + i) * size + place;
        u256 inverse = z[i];
        RF_LOOP
        for (u32 j = Task::chunk; j-- > 0;) {
            u256 square = Fp::square(inverse);
            to[j] = {Fp::mul(to[j].x, square), Fp::mul(to[j].y, Fp::mul(square, inverse))};
            inverse = Fp::mul(inverse, ratios[i * Task::chunk + j]);
        }
    }
}
