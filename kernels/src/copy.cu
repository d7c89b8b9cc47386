// Strided copies of words, padded with zeros: one thread per word of the result.
//
// Roofline bound: memory. Every word is read and written once.
#include "spread.cuh"
#include "prelude.cuh"
using namespace rf;

// For each item, out[i][j][k] = in[i * i_stride + j * j_stride + k] for k < read, else 0. There are `runs` values of j
// and `run` of k.
extern "C" __global__ void copy(const Task::Word* in, Task::Word* out, u64 units, u64 runs, u64 run, u64 read, u64 i_stride,
                                u64 j_stride, u64 in_stride, u64 out_stride, u64 first, u64 end) {
    Units<Task::threads> at(first, end, (u32)units);
    if (!at.live) return;
    u32 k = at.unit;
    u64 start = at.item * in_stride;
    // an item of one run needs no division
    if (run < units) {
        u32 i = at.unit / (u32)run;
        k -= i * (u32)run;
        if (runs > 1) {
            const u32 j = i % (u32)runs;
            i /= (u32)runs;
            start += j * j_stride;
        }
        start += i * i_stride;
    }
    Task::Word word{};
    if (k < read) word = in[start + k];
    out[at.item * out_stride + at.unit] = word;
}
