/* For homomorphic encryption: products in an RNS basis of three primes, in the NTT domain and in pinned memory. */
#include "check.h"

int main(void) {
    RingforgeEngine *engine;
    RingforgeRing *ring;
    check(ringforge_engine_best(&engine));
    const uint64_t moduli[] = {1152921504606830593, 1152921504598720513, 1152921504597016577};
    check(ringforge_ring_new("1152921504606830593,1152921504598720513,1152921504597016577 : x^4096 + 1", &ring));
    size_t batch = 4, n = ringforge_ring_degree(ring), limbs = ringforge_ring_limbs(ring);
    require(limbs == 3 && ringforge_ring_word_bytes(ring) == sizeof(uint64_t), "three limbs of 64-bit residues");

    /* page-locked memory, for the fastest copies to and from a GPU */
    RingforgePinned *pinned;
    check(ringforge_pinned_new(engine, 2 * batch * ringforge_ring_element_bytes(ring), &pinned));
    uint64_t *a = ringforge_pinned_data(pinned), *square = a + batch * limbs * n;
    for (size_t row = 0; row < batch * limbs; row++) {
        a[row * n + n / 2] = moduli[row % limbs] - 3; /* -3 x^2048 */
        a[row * n] = row / limbs;                     /* + i */
    }
    check(ringforge_forward(engine, ring, RINGFORGE_DIGIT_REVERSED_ORDER, RINGFORGE_TO_NUMBERS, a, a, batch));
    check(ringforge_point_mul(engine, ring, RINGFORGE_DIGIT_REVERSED_ORDER, RINGFORGE_TO_NUMBERS, a, a, square, batch));
    check(ringforge_inverse(engine, ring, RINGFORGE_DIGIT_REVERSED_ORDER, RINGFORGE_TO_NUMBERS, square, square, batch));
    for (size_t row = 0; row < batch * limbs; row++) { /* i^2 - 9 - 6 i x^2048 */
        uint64_t i = row / limbs, q = moduli[row % limbs];
        require(square[row * n] == (i * i + q - 9) % q && square[row * n + n / 2] == (q - 6 * i) % q, "the square");
    }
    printf("%zu squares modulo %zu primes, on %s\n", batch, limbs, ringforge_engine_device(engine));

    ringforge_pinned_free(pinned);
    ringforge_ring_free(ring);
    ringforge_engine_free(engine);
    return 0;
}
