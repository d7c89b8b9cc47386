// Interprets constraints as instructions of one word each: an operation (2 bits), the slot of its result (16 bits) and two
// operands of 23 bits, each a kind (3 bits) and an index. `code.rs` writes them. All threads run the same instructions, so
// no branch here diverges. Slots are in shared memory, each a word for every row of the block.
#pragma once

struct Constraints {
    static constexpr u32 rows = Task::rows;

    // The values of an operand in all rows of a thread.
    template <class Row>
    RF_METHOD static void load(Word* values, const Row* row, u32 operand) {
        const u32 index = operand & 0xfffff, kind = operand >> 20 & 7;
        RF_UNROLL
        for (u32 i = 0; i < rows; i++) {
            const Row& own = row[i];
            values[i] = kind == 0   ? own.slots[index * (rows * blockDim.x)]
                        : kind == 1 ? own.of(index)
                        : kind == 2 ? own.of_next(index)
                        : kind == 3 ? own.of_preprocessed(index)
                        : kind == 4 ? own.next_of_preprocessed(index)
                        : kind == 5 ? own.of_periodic(index)
                        : kind == 6 ? own.publics[index]
                        : index == 0 ? own.first
                        : index == 1 ? own.last
                                     : own.transition;
        }
    }

    template <class Row>
    RF_METHOD static void add(E* sums, const Row* row) {
        u64 next = row->code[0];
        RF_LOOP
        for (u64 k = 1; k <= row->instructions; k++) {
            const u64 instruction = next;
            if (k < row->instructions) next = row->code[k];
            const u32 operation = (u32)instruction & 3, slot = (u32)instruction >> 2 & 0xffff;
            const u32 last = (u32)(instruction >> 41);
            Word a[rows], b[rows];
            load(a, row, (u32)(instruction >> 18) & 0x7fffff);
            if (operation == 3) {
                const E weight = E::load(row->weights + (u64)last * E_DEGREE);
                RF_UNROLL
                for (u32 i = 0; i < rows; i++) sums[i] = sums[i].add(weight.times(a[i]));
                continue;
            }
            load(b, row, last);
            RF_UNROLL
            for (u32 i = 0; i < rows; i++) {
                const Word value = operation == 0 ? F::add(a[i], b[i]) : operation == 1 ? F::sub(a[i], b[i]) : F::mul(a[i], b[i]);
                row[i].slots[slot * (rows * blockDim.x)] = value;
            }
        }
    }
};
