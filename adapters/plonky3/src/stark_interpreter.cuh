// Interprets constraints as instructions of one word each: an operation (2 bits), the slot of its result (16 bits) and two
// operands of 23 bits, each a kind (3 bits) and an index. `code.rs` writes them. All threads run the same instructions, so
// no branch here diverges. A thread's slots are in shared memory, one word for each thread of the block.
#pragma once

struct Constraints {
    template <class Row>
    RF_METHOD static Word value(const Row& row, u32 operand) {
        const u32 index = operand & 0xfffff;
        switch (operand >> 20 & 7) {
            case 0: return row.slots[index * blockDim.x];
            case 1: return row.of(index);
            case 2: return row.of_next(index);
            case 3: return row.of_preprocessed(index);
            case 4: return row.next_of_preprocessed(index);
            case 5: return row.of_periodic(index);
            case 6: return row.publics[index];
            default: return index == 0 ? row.first : index == 1 ? row.last : row.transition;
        }
    }

    template <class Row>
    RF_METHOD static void add(E& sum, const Row& row) {
        RF_LOOP
        for (u64 i = 0; i < row.instructions; i++) {
            const u64 instruction = row.code[i];
            const u32 operation = (u32)instruction & 3, slot = (u32)instruction >> 2 & 0xffff;
            const u32 last = (u32)(instruction >> 41);
            const Word a = value(row, (u32)(instruction >> 18) & 0x7fffff);
            if (operation == 3) {
                sum = sum.add(E::load(row.weights + (u64)last * E_DEGREE).times(a));
                continue;
            }
            const Word b = value(row, last);
            row.slots[slot * blockDim.x] = operation == 0 ? F::add(a, b) : operation == 1 ? F::sub(a, b) : F::mul(a, b);
        }
    }
};
