/* For lattice schemes: a thousand products in Z_3457[x]/(x^768 - x^384 + 1), in one call and via the NTT domain. */
#include "check.h"
#include <string.h>

int main(void) {
    RingforgeEngine *engine;
    RingforgeRing *ring;
    check(ringforge_engine_best(&engine));
    check(ringforge_ring_new("3457:x^768-x^384+1", &ring));
    printf("%s, on %s, by Ringforge %s\n", ringforge_ring_text(ring), ringforge_engine_device(engine), ringforge_version());

    size_t batch = 1000, n = ringforge_ring_degree(ring), bytes = batch * ringforge_ring_element_bytes(ring);
    require(ringforge_ring_word_bytes(ring) == sizeof(uint16_t), "residues have 16 bits");
    uint16_t *a = memory(1, bytes), *b = memory(1, bytes), *product = memory(1, bytes);
    for (size_t i = 0; i < batch; i++) {
        a[i * n + n - 1] = 1;        /* x^767 */
        b[i * n + 1] = 1 + i % 3456; /* x times a constant */
    }
    check(ringforge_mul(engine, ring, a, b, product, batch));
    for (size_t i = 0; i < batch; i++) { /* x^768 = x^384 - 1 */
        uint16_t c = b[i * n + 1];
        require(product[i * n + n / 2] == c && product[i * n] == 3457 - c, "the product");
    }

    /* the same in the NTT domain, in place; evaluations may be reused. In this ring the NTT is incomplete, so that each
       evaluation is a polynomial with several coefficients. */
    int32_t depth = ringforge_ring_depth(ring);
    require(ringforge_forward(engine, ring, RINGFORGE_DIGIT_REVERSED_ORDER, RINGFORGE_TO_NUMBERS, a, a, batch) ==
                RINGFORGE_CODE_UNSUPPORTED, "an incomplete NTT needs a depth");
    check(ringforge_forward(engine, ring, RINGFORGE_DIGIT_REVERSED_ORDER, depth, a, a, batch));
    check(ringforge_forward(engine, ring, RINGFORGE_DIGIT_REVERSED_ORDER, depth, b, b, batch));
    uint16_t *values = memory(1, bytes);
    check(ringforge_point_mul(engine, ring, RINGFORGE_DIGIT_REVERSED_ORDER, depth, a, b, values, batch));
    check(ringforge_inverse(engine, ring, RINGFORGE_DIGIT_REVERSED_ORDER, depth, values, values, batch));
    require(memcmp(values, product, bytes) == 0, "both methods give the same product");

    /* errors are reported, and the program goes on */
    b[5] = 3457;
    RingforgeCode code = ringforge_mul(engine, ring, a, b, product, batch);
    require(code == RINGFORGE_CODE_NOT_REDUCED, "a residue that is not below the modulus is rejected");
    printf("refused: %s\n", ringforge_message());
    require(ringforge_mul(engine, ring, a, b, a, batch) == RINGFORGE_CODE_ARGUMENT, "overlapping memory is rejected");
    require(ringforge_mul(engine, ring, NULL, b, product, batch) == RINGFORGE_CODE_ARGUMENT, "null is rejected");
    require(ringforge_mul(engine, ring, a, b, product, SIZE_MAX) == RINGFORGE_CODE_ARGUMENT,
            "an oversized batch is rejected");
    check(ringforge_mul(engine, ring, NULL, NULL, NULL, 0));

    free(a), free(b), free(product), free(values);
    ringforge_ring_free(ring);
    ringforge_engine_free(engine);
    return 0;
}
