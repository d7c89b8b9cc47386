// Interprets constraints as instructions of one word each: an operation (2 bits), the slot of its result (16 bits) and two
// operands of 23 bits, each a kind (3 bits) and an index. The index of a column begins with its matrix (2 bits). `code.rs`
// writes them. All threads run the same instructions, so no branch here diverges. Slots are in shared memory, each a word for every row of the block.
#pragma once

struct Constraints {
    static constexpr u32 rows = Task::rows;

    // The values of an operand in all rows of a thread, which share the choice of its kind.
    template <class Row>
    RF_METHOD static void load(Word* values, const Row* row, u32 operand) {
        const u32 index = operand & 0xfffff;
        switch (operand >> 20 & 7) {
            case 0: return each(values, row, [=](const Row& own) { return own.slots[index * (rows * blockDim.x)]; });
            case 1: return column<false>(values, row, index);
            case 2: return column<true>(values, row, index);
            case 3: return each(values, row, [=](const Row& own) { return own.of_periodic(index); });
            case 4: return each(values, row, [=](const Row& own) { return own.publics[index]; });
            default:
                return each(values, row, [=](const Row& own) {
                    return index == 0 ? own.first : index == 1 ? own.last : own.transition;
                });
        }
    }

    template <bool next, class Row>
    RF_METHOD static void column(Word* values, const Row* row, u32 index) {
        const u32 own = index & 0x3ffff;
        switch (index >> 18) {
            case 0: return of_matrix<0, next>(values, row, own);
            case 1: return of_matrix<1, next>(values, row, own);
            default: return of_matrix<2, next>(values, row, own);
        }
    }

    template <u32 M, bool next, class Row>
    RF_METHOD static void of_matrix(Word* values, const Row* row, u32 index) {
        each(values, row, [=](const Row& own) {
            return next ? own.template of_next<M>(index) : own.template of<M>(index);
        });
    }

    template <class Row, class Of>
    RF_METHOD static void each(Word* values, const Row* row, Of of) {
        RF_UNROLL
        for (u32 i = 0; i < rows; i++) values[i] = of(row[i]);
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
                if (Task::stores) {
                    // rows that do not exist store what the first row does
                    RF_UNROLL
                    for (u32 i = 0; i < rows; i++) row[i].store(last, a[i]);
                    continue;
                }
                const E weight = E::load(row->weights + (u64)last * E_DEGREE);
                RF_UNROLL
                for (u32 i = 0; i < rows; i++) sums[i] = sums[i].add(weight.times(a[i]));
                continue;
            }
            load(b, row, last);
            if (operation == 2) {
                RF_UNROLL
                for (u32 i = 0; i < rows; i++) a[i] = F::mul(a[i], b[i]);
            } else if (operation == 1) {
                RF_UNROLL
                for (u32 i = 0; i < rows; i++) a[i] = F::sub(a[i], b[i]);
            } else {
                RF_UNROLL
                for (u32 i = 0; i < rows; i++) a[i] = F::add(a[i], b[i]);
            }
            RF_UNROLL
            for (u32 i = 0; i < rows; i++) row[i].slots[slot * (rows * blockDim.x)] = a[i];
        }
    }
};
