/* For provers over elliptic curves: sums of points times scalars on BN254, with points in Montgomery form as gnark and
   arkworks keep them. */
#include "check.h"
#include <string.h>

/* The generator (1, 2), times 2^256. */
static const uint64_t G[8] = {0xd35d438dc58f0d9d, 0x0a78eb28f5c70b3d, 0x666ea36f7879462c, 0x0e0a77c19a07df2f,
                              0xa6ba871b8b1e1b3a, 0x14f1d651eb8e167b, 0xccdd46def0f28c58, 0x1c14ef83340fbe5e};

/* 12 times the generator, times 2^256. */
static const uint64_t TWELVE[8] = {0x6968f0ca90235beb, 0x7dd31dd781ba8378, 0x1fc05c9ef5ba9729, 0x05c29a0e488af88b,
                                  0xfe7a02d984494450, 0xdaa4303453f3eb03, 0x99853a3e5d5d0be2, 0x063e4daa201b7042};

int main(void) {
    RingforgeEngine *engine;
    RingforgeBases *bases;
    check(ringforge_engine_best(&engine));
    uint64_t points[3][8] = {{0}};
    memcpy(points[0], G, sizeof G);
    memcpy(points[1], G, sizeof G); /* the third is infinity */
    check(ringforge_bases_new(engine, "bn254:g1", points[0], 3, true, true, 0, &bases));
    require(ringforge_bases_point_words(bases) == 8, "two coordinates of four words");

    uint64_t scalars[2][3][4] = {{{5}, {7}, {9}}, {{0}, {0}, {1}}}, sums[2][8];
    check(ringforge_msm(bases, scalars[0][0], 3, 2, false, sums[0]));
    require(memcmp(sums[0], TWELVE, sizeof TWELVE) == 0, "5 G + 7 G = 12 G");
    for (int i = 0; i < 8; i++) {
        require(sums[1][i] == 0, "infinity is zeros");
    }

    scalars[0][1][3] = UINT64_MAX;
    RingforgeCode code = ringforge_msm(bases, scalars[0][0], 3, 1, false, sums[0]);
    require(code == RINGFORGE_CODE_NOT_REDUCED, "a scalar that is not reduced is refused");
    printf("sums on %s; refused: %s\n", ringforge_engine_device(engine), ringforge_message());

    points[1][0] ^= 1;
    RingforgeBases *none;
    code = ringforge_bases_new(engine, "bn254:g1", points[0], 3, true, true, 0, &none);
    require(code == RINGFORGE_CODE_ARGUMENT && none == NULL, "a point that is not on the curve is refused");
    printf("refused: %s\n", ringforge_message());
    require(ringforge_bases_new(engine, "bn256", points[0], 3, true, true, 0, &none) == RINGFORGE_CODE_ARGUMENT,
            "no curve of this name");

    ringforge_bases_free(bases);
    ringforge_engine_free(engine);
    return 0;
}
