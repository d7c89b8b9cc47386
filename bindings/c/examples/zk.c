/* For zero-knowledge provers: evaluation of a polynomial over the scalar field of BLS12-381 at all powers of a root of
   unity, and interpolation. */
#include "check.h"
#include <string.h>

#define R "52435875175126190479447740508185965837690552500527637822603658699938581184513"

int main(void) {
    RingforgeEngine *engine;
    RingforgeRing *ring;
    check(ringforge_engine_best(&engine));
    check(ringforge_ring_new(R " : x^4096 - 1 : plain", &ring)); /* without `plain`: Montgomery form */
    size_t n = ringforge_ring_degree(ring);
    require(ringforge_ring_word_bytes(ring) == 32, "residues are four 64-bit words");
    uint64_t (*f)[4] = memory(n, 32), (*values)[4] = memory(n, 32);
    for (size_t i = 0; i < n; i++) {
        f[i][0] = i;
    }
    check(ringforge_forward(engine, ring, RINGFORGE_NATURAL_ORDER, RINGFORGE_TO_NUMBERS, f, values, 1));
    require(values[0][0] == n * (n - 1) / 2 && values[0][1] == 0, "the value at 1 is the sum of all coefficients");
    check(ringforge_inverse(engine, ring, RINGFORGE_NATURAL_ORDER, RINGFORGE_TO_NUMBERS, values, values, 1));
    require(memcmp(f, values, n * 32) == 0, "the inverse restores the input");

    RingforgeRing *none;
    RingforgeCode code = ringforge_ring_new("15 : x^4096 - ", &none);
    require(code == RINGFORGE_CODE_RING && none == NULL, "an invalid ring is rejected");
    printf("%zu values on %s; refused: %s\n", n, ringforge_engine_device(engine), ringforge_message());
    check(ringforge_ring_new("15 : x^4096 - 1", &none));
    code = ringforge_forward(engine, none, RINGFORGE_DIGIT_REVERSED_ORDER, RINGFORGE_TO_NUMBERS, NULL, NULL, 0);
    require(code != RINGFORGE_CODE_OK, "there is no NTT modulo 15");
    printf("refused: %s\n", ringforge_message());

    free(f), free(values);
    ringforge_ring_free(none);
    ringforge_ring_free(ring);
    ringforge_engine_free(engine);
    return 0;
}
