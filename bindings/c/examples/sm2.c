/* For servers: batches of messages signed with SM2, on several threads that share one handle. */
#include "check.h"
#include <string.h>
#include <threads.h>

enum { BATCH = 100, THREADS = 4 };

static RingforgeSm2 *sm2;

static int sign_and_verify(void *nothing) {
    (void)nothing;
    uint8_t *private_keys = memory(BATCH, RINGFORGE_SM2_PRIVATE_KEY), *public_keys = memory(BATCH, RINGFORGE_SM2_PUBLIC_KEY);
    uint8_t *digests = memory(BATCH, RINGFORGE_SM2_DIGEST), *signatures = memory(BATCH, RINGFORGE_SM2_SIGNATURE);
    check(ringforge_sm2_generate(sm2, BATCH, private_keys, public_keys, NULL));

    /* messages are concatenated */
    uint8_t messages[] = "a message of each length";
    size_t lengths[BATCH] = {0};
    for (size_t i = 0; i < sizeof messages - 1; i++) {
        lengths[i % 7]++;
    }
    check(ringforge_sm2_digest(BATCH, public_keys, BATCH, NULL, 0, messages, lengths, digests, NULL));
    check(ringforge_sm2_sign(sm2, BATCH, private_keys, BATCH, digests, signatures, NULL));
    check(ringforge_sm2_verify(sm2, BATCH, public_keys, digests, signatures, NULL));

    /* a corrupted signature is reported, in this thread's error message */
    uint32_t statuses[BATCH];
    signatures[7 * RINGFORGE_SM2_SIGNATURE] ^= 1;
    RingforgeCode code = ringforge_sm2_verify(sm2, BATCH, public_keys, digests, signatures, statuses);
    require(code == RINGFORGE_CODE_ITEMS && statuses[6] == RINGFORGE_ITEM_OK, "one signature is wrong");
    require(statuses[7] == RINGFORGE_ITEM_SIGNATURE_WRONG, ringforge_item_message(statuses[7]));
    require(strcmp(ringforge_message(), "item 7: the signature does not match the digest and key") == 0,
            ringforge_message());
    free(private_keys), free(public_keys), free(digests), free(signatures);
    return 0;
}

int main(void) {
    RingforgeEngine *engine;
    check(ringforge_engine_best(&engine));
    check(ringforge_sm2_new(engine, false, &sm2));
    thrd_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        require(thrd_create(&threads[i], sign_and_verify, NULL) == thrd_success, "a thread starts");
    }
    for (int i = 0; i < THREADS; i++) {
        thrd_join(threads[i], NULL);
    }
    printf("%d signatures are valid\n", THREADS * BATCH);
    ringforge_sm2_free(sm2);
    ringforge_engine_free(engine);
    return 0;
}
