/* For servers: a batch of a thousand key exchanges with CTRU-768, with a status for each exchange. */
#include "check.h"
#include <string.h>

int main(void) {
    RingforgeEngine *engine;
    RingforgeKem *kem;
    RingforgeKemSizes sizes;
    check(ringforge_engine_best(&engine));
    check(ringforge_kem_new(engine, "CTRU-768", &kem));
    check(ringforge_kem_sizes(kem, &sizes));

    size_t batch = 1000;
    uint8_t *public_keys = memory(batch, sizes.public_key), *secret_keys = memory(batch, sizes.secret_key);
    uint8_t *ciphertexts = memory(batch, sizes.ciphertext);
    uint8_t *sent = memory(batch, sizes.shared_key), *received = memory(batch, sizes.shared_key);
    uint32_t *statuses = memory(batch, sizeof *statuses);
    check(ringforge_kem_generate(kem, batch, public_keys, secret_keys, NULL));
    check(ringforge_kem_encapsulate(kem, batch, public_keys, ciphertexts, sent, NULL));
    check(ringforge_kem_decapsulate(kem, batch, secret_keys, ciphertexts, received, NULL));
    require(memcmp(sent, received, batch * sizes.shared_key) == 0, "both ends have the same keys");
    printf("%zu keys agreed on by %s, on %s\n", batch, ringforge_kem_name(1), ringforge_engine_device(engine));

    /* a bad key is reported, and the other items are not affected */
    memset(public_keys + 7 * sizes.public_key, 0xff, sizes.public_key);
    RingforgeCode code = ringforge_kem_encapsulate(kem, batch, public_keys, ciphertexts, sent, statuses);
    require(code == RINGFORGE_CODE_ITEMS, "the call reports that an item failed");
    printf("%s\n", ringforge_message());
    for (size_t i = 0; i < batch; i++) {
        uint32_t wanted = i == 7 ? RINGFORGE_ITEM_INVALID_PUBLIC_KEY : RINGFORGE_ITEM_OK;
        require((statuses[i] & 0xff) == wanted, ringforge_item_message(statuses[i]));
    }

    RingforgeKem *none;
    require(ringforge_kem_new(engine, "RSA", &none) == RINGFORGE_CODE_UNSUPPORTED && none == NULL,
            "an unknown KEM is rejected");
    printf("refused: %s\n", ringforge_message());

    free(public_keys), free(secret_keys), free(ciphertexts), free(sent), free(received), free(statuses);
    ringforge_kem_free(kem);
    ringforge_engine_free(engine);
    return 0;
}
