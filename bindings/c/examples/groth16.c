/* For Groth16 provers over BN254: the quotient of the constraint polynomials, as gnark's ComputeH makes it. */
#include "check.h"
#include <string.h>

typedef uint64_t Element[4];

/* a has the evaluations 1, 2, 3, 4 at the powers of the root of order 4, b has 5, 6, 7, 8, and c has their products. h is
   (a b - c) / (x^4 - 1). Elements are in Montgomery form. */
static const Element A[4] = {
    {0xac96341c4ffffffb, 0x36fc76959f60cd29, 0x666ea36f7879462e, 0x0e0a77c19a07df2f},
    {0x592c68389ffffff6, 0x6df8ed2b3ec19a53, 0xccdd46def0f28c5c, 0x1c14ef83340fbe5e},
    {0x05c29c54effffff1, 0xa4f563c0de22677d, 0x334bea4e696bd28a, 0x2a1f6744ce179d8e},
    {0x6e76dadd4fffffeb, 0xb3bdf20e03c9c415, 0xe16a48076063c05b, 0x07c5909386eddc93}};
static const Element B[4] = {
    {0x1b0d0ef99fffffe6, 0xeaba68a3a32a913f, 0x47d8eb76d8dd0689, 0x15d0085520f5bbc3},
    {0xc7a34315efffffe1, 0x21b6df39428b5e68, 0xae478ee651564cb8, 0x23da8016bafd9af2},
    {0x3057819e4fffffdb, 0x307f6d866832bb01, 0x5c65ec9f484e3a89, 0x0180a96573d3d9f8},
    {0xdcedb5ba9fffffd6, 0x677be41c0793882a, 0xc2d4900ec0c780b7, 0x0f8b21270ddbb927}};
static const Element C[4] = {
    {0x1b0d0ef99fffffe6, 0xeaba68a3a32a913f, 0x47d8eb76d8dd0689, 0x15d0085520f5bbc3},
    {0x4b649097efffffc1, 0x1b39d62a0b5d4c40, 0xa43ed816212b4113, 0x1750b1ba94c995bb},
    {0x910684daefffff91, 0x917e489338983103, 0x1531c5ddd8eaaf9b, 0x0481fc305b7b8de9},
    {0x2fd4e1568fffff57, 0x75bba827a494b01a, 0x5301fa84819caa80, 0x0dc83629563d4475}};
static const Element H[4] = {
    {0x68b43e885ffffffa, 0x0ec88e4d25a75c98, 0xae1e5db8f6f7edd1, 0x1da6294eb8d63f05},
    {0x1605b8d9f76e77c3, 0x4b1dc6e128542f25, 0x7a1002f47641594e, 0x1ca0f97b69e473ff},
    {0xe1ab9995c76e77c6, 0xc3b97fba958080d8, 0xa300d417fac56265, 0x2dcde4d40d79547c},
    {0x0000000000000000, 0x0000000000000000, 0x0000000000000000, 0x0000000000000000}};

int main(void) {
    RingforgeEngine *engine;
    check(ringforge_engine_best(&engine));
    Element h[4];
    check(ringforge_groth16_quotient(engine, "bn254", 2, false, A[0], B[0], C[0], h[0]));
    require(memcmp(h, H, sizeof H) == 0, "the coefficients of the quotient");
    check(ringforge_groth16_quotient(engine, "bn254", 2, true, A[0], B[0], C[0], h[0]));
    const int reversed[4] = {0, 2, 1, 3};
    for (int i = 0; i < 4; i++) {
        require(memcmp(h[i], H[reversed[i]], sizeof h[i]) == 0, "in bit-reversed order, as gnark keeps them");
    }

    Element large[4];
    memcpy(large, A, sizeof A);
    large[2][3] = UINT64_MAX;
    RingforgeCode code = ringforge_groth16_quotient(engine, "bn254", 2, false, large[0], B[0], C[0], h[0]);
    require(code == RINGFORGE_CODE_NOT_REDUCED, "an element that is not reduced is refused");
    printf("a quotient on %s; refused: %s\n", ringforge_engine_device(engine), ringforge_message());
    code = ringforge_groth16_quotient(engine, "bn254", 29, false, A[0], B[0], C[0], h[0]);
    require(code == RINGFORGE_CODE_ARGUMENT, "a domain that is too large is refused");
    code = ringforge_groth16_quotient(engine, "secp256k1", 2, false, A[0], B[0], C[0], h[0]);
    require(code == RINGFORGE_CODE_ARGUMENT, "a curve without such roots is refused");

    ringforge_engine_free(engine);
    return 0;
}
