/* For programs with their own CUDA code: transforms in device memory that the program allocated, in the order of the
   program's stream. This example loads the driver with dlopen, so that it compiles without CUDA. A CUDA program passes
   pointers from cudaMalloc and a stream from cudaStreamCreate. */
#include "check.h"
#include <dlfcn.h>
#include <string.h>

typedef unsigned long long Pointer;

static void *driver;

static int call_failed(const char *name, int code) {
    fprintf(stderr, "%s: %d\n", name, code);
    exit(1);
}

#define CUDA(name, types, ...)                                                                                                 \
    do {                                                                                                                       \
        int(*f) types;                                                                                                         \
        *(void **)&f = dlsym(driver, name);                                                                                    \
        int code = f == NULL ? -1 : f(__VA_ARGS__);                                                                            \
        if (code != 0) call_failed(name, code);                                                                                \
    } while (0)

int main(void) {
    RingforgeEngine *engine;
    RingforgeRing *ring;
    if (ringforge_engine_cuda(0, &engine) == RINGFORGE_CODE_NO_DEVICE) {
        printf("skipped: %s\n", ringforge_message());
        return 0;
    }
    check(ringforge_ring_new("2013265921 : x^65536 - 1", &ring));
    size_t batch = 16, bytes = batch * ringforge_ring_element_bytes(ring);
    uint32_t *sent = memory(1, bytes), *received = memory(1, bytes);
    for (size_t i = 0; i < bytes / sizeof *sent; i++) {
        sent[i] = i % 2013265921;
    }

    driver = dlopen("libcuda.so.1", RTLD_NOW);
    require(driver != NULL, "libcuda.so.1 loads");
    void *context, *stream;
    Pointer a, b;
    CUDA("cuDevicePrimaryCtxRetain", (void **, int), &context, 0);
    CUDA("cuCtxSetCurrent", (void *), context);
    CUDA("cuStreamCreate", (void **, unsigned), &stream, 1);
    CUDA("cuMemAlloc_v2", (Pointer *, size_t), &a, bytes);
    CUDA("cuMemAlloc_v2", (Pointer *, size_t), &b, bytes);

    /* all work is ordered by one stream; the host waits only at the end */
    CUDA("cuMemcpyHtoDAsync_v2", (Pointer, const void *, size_t, void *), a, sent, bytes, stream);
    check(ringforge_forward_on(engine, ring, RINGFORGE_DIGIT_REVERSED_ORDER, RINGFORGE_TO_NUMBERS, stream, (void *)a, (void *)b, batch));
    check(ringforge_inverse_on(engine, ring, RINGFORGE_DIGIT_REVERSED_ORDER, RINGFORGE_TO_NUMBERS, stream, (void *)b, (void *)b, batch));
    CUDA("cuMemcpyDtoHAsync_v2", (void *, Pointer, size_t, void *), received, b, bytes, stream);
    CUDA("cuStreamSynchronize", (void *), stream);
    require(memcmp(sent, received, bytes) == 0, "the inverse restores the input");
    require(ringforge_mul_on(engine, ring, stream, (void *)a, (void *)a, (void *)(a + 16), 1) == RINGFORGE_CODE_ARGUMENT,
            "overlapping memory is rejected");
    printf("transforms on %s in the order of a stream of the program's own\n", ringforge_engine_device(engine));

    CUDA("cuMemFree_v2", (Pointer), a);
    CUDA("cuMemFree_v2", (Pointer), b);
    CUDA("cuStreamDestroy_v2", (void *), stream);
    free(sent), free(received);
    ringforge_ring_free(ring);
    ringforge_engine_free(engine);
    return 0;
}
