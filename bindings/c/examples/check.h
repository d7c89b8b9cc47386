/* Error handling of the examples: print the error and exit. */
#include <ringforge.h>
#include <stdio.h>
#include <stdlib.h>

static inline void check(RingforgeCode code) {
    if (code != RINGFORGE_CODE_OK) {
        fprintf(stderr, "error %d: %s\n", (int)code, ringforge_message());
        exit(1);
    }
}

static inline void require(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "check failed: %s\n", what);
        exit(1);
    }
}

static inline void *memory(size_t count, size_t size) {
    void *memory = calloc(count > 0 ? count : 1, size);
    require(memory != NULL, "enough memory");
    return memory;
}
