// Inverts the product of each group of keys, with one inversion for Set::groups groups (Montgomery's trick, 1987). The
// inverse is stored at the first item of its group.
#include "prelude.cuh"

#include "ctru_prime_group.cuh"
#include "ctru_prime_inverse.cuh"
using namespace rf;

static_assert(Rq::extra >= 4 * half, "shared memory must hold two polynomials after the row");

extern "C" __global__ void __launch_bounds__(Rq::threads* Rq::tile)
    ctru_prime_invert(const u16* products, u16* inverses, const Twiddle* table, u64 first, u64 end) {
    RF_SHARED(shared);
    auto row = row_of<Set::group * Set::groups>(shared, first, end);
    Product at_work(row, table);
    Groups groups(row, first, end);
    u16 *product = (u16*)row.extra, *scratch = product + half;
    // Returns coefficient c of the product of group i, which is stored at the group's last item; 1 if there is no group
    // i
    auto member = [&](u32 i, u32 c) -> u32 {
        return groups.has(i) ? products[polynomial_at(groups.item(i) + groups.span(i) - 1) + c] : c == 0;
    };

    for (u32 c = row.thread; c < Set::n; c += Rq::threads) product[c] = c == 0;
    RF_LOOP
    for (u32 i = 0; i < groups.count; i++) {
        if (groups.has(i)) {
            u16* before = inverses + polynomial_at(groups.item(i));
            for (u32 c = row.thread; c < groups.span(i) * Set::n; c += Rq::threads) before[c] = c < Set::n ? product[c] : 0;
        }
        take_words(row, at_work, product);
        multiply_large(
            row, at_work, scratch, [&](u32 c) { return member(i, c); }, [&](u32 c, u32 x) { product[c] = (u16)x; });
    }
    invert_row(row, product);

    RF_LOOP
    for (u32 i = groups.count; i-- > 0;) {
        u16* inverse = inverses + polynomial_at(groups.item(i));  // at first, the product of groups 0 to i - 1
        const bool live = groups.has(i);
        take_words(row, at_work, product);
        RF_LOOP
        for (u32 turn = 0; turn < 2; turn++) {
            multiply_large(
                row, at_work, scratch, [&](u32 c) -> u32 { return turn == 0 || !live ? member(i, c) : inverse[c]; },
                [&](u32 c, u32 x) {
                    if (turn == 0) product[c] = (u16)x;
                    else if (live) inverse[c] = (u16)x;
                });
        }
    }
}
