/* Ringforge: number-theoretic transforms, polynomial arithmetic, key encapsulation and signatures, on CPUs and GPUs.

   Generated from the crate ringforge-capi by cbindgen; the crate's test writes this file with RINGFORGE_BLESS=1.

   - A function that can fail returns a RingforgeCode; ringforge_message() then returns the error message.
   - A handle made by a function named ..._new or ringforge_engine_... is freed by the function named ..._free. Threads
     may share handles, as long as no thread frees one while another uses it.
   - Memory passed to a function belongs to the caller before, during and after the call. Memory that is written must
     not overlap other arguments. Pointers may be null for an empty batch.
   - Work in a process forked from one that has already done work fails with an error, because the child lacks the
     threads: fork first.
   - No error ends the process, and nothing is printed. */

#ifndef RINGFORGE_H
#define RINGFORGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Evaluations in the order of the factorisation tree's leaves: digit-reversed, or bit-reversed if every radix is 2.
 * This is the fastest order.
 */
#define RINGFORGE_DIGIT_REVERSED_ORDER 0

/**
 * Evaluations by ascending powers of the root of unity.
 */
#define RINGFORGE_NATURAL_ORDER 1

/**
 * As `depth`: all layers of a complete transform, whose evaluations are numbers. It is an error if the ring has only
 * an incomplete transform, whose evaluations are polynomials.
 */
#define RINGFORGE_TO_NUMBERS -1

/**
 * Bytes of a private key, big-endian.
 */
#define RINGFORGE_SM2_PRIVATE_KEY 32

/**
 * Bytes of a public key: x, then y, big-endian.
 */
#define RINGFORGE_SM2_PUBLIC_KEY 64

/**
 * Bytes of a digest.
 */
#define RINGFORGE_SM2_DIGEST 32

/**
 * Bytes of a signature: r, then s, big-endian.
 */
#define RINGFORGE_SM2_SIGNATURE 64

/**
 * The result of a call. `ringforge_message` returns the error message.
 */
enum RingforgeCode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Success.
   */
  RINGFORGE_CODE_OK = 0,
  /**
   * The call succeeded, but some items of its batch failed: their statuses say why, and their outputs are zero.
   */
  RINGFORGE_CODE_ITEMS = 1,
  /**
   * An argument is invalid: null, misaligned, of the wrong size, or overlapping another.
   */
  RINGFORGE_CODE_ARGUMENT = 2,
  /**
   * A residue is not below its modulus.
   */
  RINGFORGE_CODE_NOT_REDUCED = 3,
  /**
   * The ring is invalid, or does not support the operation.
   */
  RINGFORGE_CODE_RING = 4,
  /**
   * The device does not support the operation, or the name is unknown.
   */
  RINGFORGE_CODE_UNSUPPORTED = 5,
  /**
   * The GPU does not exist or is not usable.
   */
  RINGFORGE_CODE_NO_DEVICE = 6,
  /**
   * A kernel could not be compiled or loaded.
   */
  RINGFORGE_CODE_COMPILER = 7,
  /**
   * Out of memory.
   */
  RINGFORGE_CODE_OUT_OF_MEMORY = 8,
  /**
   * A driver call failed.
   */
  RINGFORGE_CODE_DRIVER = 9,
  /**
   * Any other error: a bug in Ringforge.
   */
  RINGFORGE_CODE_INTERNAL = 10,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum RingforgeCode RingforgeCode;
#else
typedef int32_t RingforgeCode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The low byte of an item's status. For some codes the upper bits hold a number, such as the index of a coefficient.
 */
enum RingforgeItem
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The item is ok.
   */
  RINGFORGE_ITEM_OK = 0,
  /**
   * The seed gives no key, because its polynomial has no inverse.
   */
  RINGFORGE_ITEM_NOT_INVERTIBLE = 1,
  /**
   * A coefficient of the public key is not below the modulus.
   */
  RINGFORGE_ITEM_INVALID_PUBLIC_KEY = 2,
  /**
   * A coefficient of the secret key is out of range.
   */
  RINGFORGE_ITEM_INVALID_SECRET_KEY = 3,
  /**
   * SM2: the private key is out of range.
   */
  RINGFORGE_ITEM_PRIVATE_KEY_RANGE = 5,
  /**
   * SM2: the public key is not a point of the curve.
   */
  RINGFORGE_ITEM_PUBLIC_KEY_POINT = 6,
  /**
   * SM2: the nonce is out of range, or gives no signature for this key and digest.
   */
  RINGFORGE_ITEM_NONCE_REFUSED = 7,
  /**
   * SM2: r or s of the signature is out of range.
   */
  RINGFORGE_ITEM_SIGNATURE_RANGE = 8,
  /**
   * SM2: the signature is wrong.
   */
  RINGFORGE_ITEM_SIGNATURE_WRONG = 9,
  /**
   * The item was not finished, or the whole call failed.
   */
  RINGFORGE_ITEM_NOT_REACHED = 254,
  /**
   * The kernels wrote a status that is not defined.
   */
  RINGFORGE_ITEM_UNKNOWN = 255,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum RingforgeItem RingforgeItem;
#else
typedef uint32_t RingforgeItem;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A device with its cache of compiled programs. Threads may share it.
 */
typedef struct RingforgeEngine RingforgeEngine;

/**
 * A KEM, compiled for an engine's device. Threads may share it.
 */
typedef struct RingforgeKem RingforgeKem;

/**
 * Page-locked host memory; for an engine on the CPU, ordinary memory.
 */
typedef struct RingforgePinned RingforgePinned;

/**
 * A ring `Z_Q[x]/(f)`. Threads may share it.
 */
typedef struct RingforgeRing RingforgeRing;

/**
 * SM2 signatures (GB/T 32918), compiled for an engine's device. Threads may share it.
 */
typedef struct RingforgeSm2 RingforgeSm2;

/**
 * Sizes of one item, in bytes.
 */
typedef struct {
  /**
   * A public key.
   */
  size_t public_key;
  /**
   * A secret key.
   */
  size_t secret_key;
  /**
   * A ciphertext.
   */
  size_t ciphertext;
  /**
   * A shared key.
   */
  size_t shared_key;
} RingforgeKemSizes;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the error message of this thread's last call that did not return `RINGFORGE_CODE_OK`; empty if there was
 * none. It stays valid until the thread's next such call.
 */
const char *ringforge_message(void);

/**
 * Returns the library's version, such as `0.1.0`, as a static string.
 */
const char *ringforge_version(void);

/**
 * Makes an engine on the first CUDA GPU if it is usable, else on the CPU.
 */
RingforgeCode ringforge_engine_best(RingforgeEngine **engine);

/**
 * Makes an engine on the CPU.
 */
RingforgeCode ringforge_engine_cpu(RingforgeEngine **engine);

/**
 * Makes an engine on the CUDA GPU with this ordinal, in its primary context.
 */
RingforgeCode ringforge_engine_cuda(size_t ordinal, RingforgeEngine **engine);

/**
 * Returns the name of the engine's device, valid until the engine is freed; empty for null.
 */
const char *ringforge_engine_device(const RingforgeEngine *engine);

/**
 * Drops all cached programs and releases the memory that the device caches.
 */
RingforgeCode ringforge_engine_trim(const RingforgeEngine *engine);

/**
 * Frees an engine; null is ignored. Handles made with the engine stay valid.
 */
void ringforge_engine_free(RingforgeEngine *engine);

/**
 * Parses a ring from text such as `3457 : x^768 - x^384 + 1`. Several moduli are an RNS basis: `97,193 : x^16 + 1`.
 *
 * An element has `ringforge_ring_limbs` limbs, one for each modulus, stored one after another. A limb has
 * `ringforge_ring_degree` words, lowest coefficient first. A word has `ringforge_ring_word_bytes` bytes (2, 4, 8 or
 * 32) in native byte order. A word of 32 bytes is four 64-bit words, least significant first, in Montgomery form
 * (times 2^256) unless the text ends in `: plain`.
 */
RingforgeCode ringforge_ring_new(const char *text,
                                 RingforgeRing **ring);

/**
 * Returns the ring as text that `ringforge_ring_new` parses, valid until the ring is freed; empty for null.
 */
const char *ringforge_ring_text(const RingforgeRing *ring);

/**
 * Returns the degree of f; 0 for null.
 */
size_t ringforge_ring_degree(const RingforgeRing *ring);

/**
 * Returns the number of limbs of an element, one for each modulus; 0 for null.
 */
size_t ringforge_ring_limbs(const RingforgeRing *ring);

/**
 * Returns the bytes of a residue: 2, 4, 8 or 32; 0 for null.
 */
size_t ringforge_ring_word_bytes(const RingforgeRing *ring);

/**
 * Returns the bytes of an element; 0 for null.
 */
size_t ringforge_ring_element_bytes(const RingforgeRing *ring);

/**
 * Returns the number of layers of the deepest transform, the largest valid `depth`; negative for null and for a ring
 * without a transform.
 */
int32_t ringforge_ring_depth(const RingforgeRing *ring);

/**
 * Frees a ring; null is ignored.
 */
void ringforge_ring_free(RingforgeRing *ring);

/**
 * Transforms `batch` elements in host memory from coefficients to evaluations in this order (forward NTT). `depth` is
 * `RINGFORGE_TO_NUMBERS` or a number of layers, at most `ringforge_ring_depth`. `to` may be `from`; otherwise they
 * must not overlap.
 */
RingforgeCode ringforge_forward(const RingforgeEngine *engine,
                                const RingforgeRing *ring,
                                int32_t order,
                                int32_t depth,
                                const void *from,
                                void *to,
                                size_t batch);

/**
 * Transforms `batch` elements in host memory from evaluations of this order and depth to coefficients: the inverse of
 * `ringforge_forward`. `to` may be `from`; otherwise they must not overlap.
 */
RingforgeCode ringforge_inverse(const RingforgeEngine *engine,
                                const RingforgeRing *ring,
                                int32_t order,
                                int32_t depth,
                                const void *from,
                                void *to,
                                size_t batch);

/**
 * Multiplies `batch` pairs of elements in host memory. Inputs and products are coefficients. Works in every ring, also
 * in one without a transform. `product` must not overlap `a` or `b`, which may be the same.
 */
RingforgeCode ringforge_mul(const RingforgeEngine *engine,
                            const RingforgeRing *ring,
                            const void *a,
                            const void *b,
                            void *product,
                            size_t batch);

/**
 * Multiplies `batch` pairs of elements in host memory pointwise. Inputs and products are evaluations of this order and
 * depth. `product` must not overlap `a` or `b`, which may be the same.
 */
RingforgeCode ringforge_point_mul(const RingforgeEngine *engine,
                                  const RingforgeRing *ring,
                                  int32_t order,
                                  int32_t depth,
                                  const void *a,
                                  const void *b,
                                  void *product,
                                  size_t batch);

/**
 * As `ringforge_forward`, on memory of the engine's GPU, in the order of `stream`: after all earlier work on it, and
 * before all later work. `stream` is a `CUstream` or `cudaStream_t` of the GPU's primary context; null is the legacy
 * default stream. Returns once the work is enqueued. Addresses must be multiples of 16. Residues are not checked: they
 * must be below their moduli, unless the ring's text ends in `: any word`.
 */
RingforgeCode ringforge_forward_on(const RingforgeEngine *engine,
                                   const RingforgeRing *ring,
                                   int32_t order,
                                   int32_t depth,
                                   void *stream,
                                   const void *from,
                                   void *to,
                                   size_t batch);

/**
 * As `ringforge_inverse`, on memory of the engine's GPU, in the order of `stream`: see `ringforge_forward_on`.
 */
RingforgeCode ringforge_inverse_on(const RingforgeEngine *engine,
                                   const RingforgeRing *ring,
                                   int32_t order,
                                   int32_t depth,
                                   void *stream,
                                   const void *from,
                                   void *to,
                                   size_t batch);

/**
 * As `ringforge_mul`, on memory of the engine's GPU, in the order of `stream`: see `ringforge_forward_on`.
 */
RingforgeCode ringforge_mul_on(const RingforgeEngine *engine,
                               const RingforgeRing *ring,
                               void *stream,
                               const void *a,
                               const void *b,
                               void *product,
                               size_t batch);

/**
 * As `ringforge_point_mul`, on memory of the engine's GPU, in the order of `stream`: see `ringforge_forward_on`.
 */
RingforgeCode ringforge_point_mul_on(const RingforgeEngine *engine,
                                     const RingforgeRing *ring,
                                     int32_t order,
                                     int32_t depth,
                                     void *stream,
                                     const void *a,
                                     const void *b,
                                     void *product,
                                     size_t batch);

/**
 * Allocates `bytes` bytes of host memory, all zero, for the fastest copies to and from the engine's device. Allocation
 * is slow: allocate once and reuse it.
 */
RingforgeCode ringforge_pinned_new(const RingforgeEngine *engine,
                                   size_t bytes,
                                   RingforgePinned **pinned);

/**
 * Returns the address of the memory, aligned to at least 16 bytes; null if it has no bytes.
 */
void *ringforge_pinned_data(const RingforgePinned *pinned);

/**
 * Wipes and frees the memory; null is ignored.
 */
void ringforge_pinned_free(RingforgePinned *pinned);

/**
 * Returns the message for an item's status. It stays valid until the thread's next call of this function.
 */
const char *ringforge_item_message(uint32_t status);

/**
 * Returns the name of KEM `number`, counted from 0, as a static string; null beyond the last.
 */
const char *ringforge_kem_name(size_t number);

/**
 * Compiles the KEM of this name, such as `CTRU-768`, for the engine's device.
 */
RingforgeCode ringforge_kem_new(const RingforgeEngine *engine, const char *name, RingforgeKem **kem);

/**
 * Writes the sizes of items.
 */
RingforgeCode ringforge_kem_sizes(const RingforgeKem *kem, RingforgeKemSizes *sizes);

/**
 * Generates `batch` key pairs from the system's randomness. Item i of an array begins at i times the item's size.
 * `statuses` is null or has a word for each item: see `RingforgeItem`.
 */
RingforgeCode ringforge_kem_generate(const RingforgeKem *kem,
                                     size_t batch,
                                     uint8_t *public_keys,
                                     uint8_t *secret_keys,
                                     uint32_t *statuses);

/**
 * Writes whether each of `batch` public keys has a canonical encoding, as key generation produces it. CTRU and CNTR
 * reject other encodings; CTRU-Prime accepts them, because it decodes any bytes to some key. Runs on the CPU.
 */
RingforgeCode ringforge_kem_are_canonical(const RingforgeKem *kem,
                                          size_t batch,
                                          const uint8_t *public_keys,
                                          bool *canonical);

/**
 * Generates a shared key and its ciphertext for each of `batch` public keys. CTRU and CNTR reject a public key with a
 * coefficient that is not below the modulus; CTRU-Prime accepts any bytes, see `ringforge_kem_are_canonical`.
 * `statuses` as for `ringforge_kem_generate`.
 */
RingforgeCode ringforge_kem_encapsulate(const RingforgeKem *kem,
                                        size_t batch,
                                        const uint8_t *public_keys,
                                        uint8_t *ciphertexts,
                                        uint8_t *shared_keys,
                                        uint32_t *statuses);

/**
 * Computes the shared key of each of `batch` ciphertexts with its secret key. A rejected ciphertext is no error: its
 * shared key is pseudorandom (implicit rejection), and timing and memory accesses do not reveal it. `statuses` as for
 * `ringforge_kem_generate`.
 */
RingforgeCode ringforge_kem_decapsulate(const RingforgeKem *kem,
                                        size_t batch,
                                        const uint8_t *secret_keys,
                                        const uint8_t *ciphertexts,
                                        uint8_t *shared_keys,
                                        uint32_t *statuses);

/**
 * Frees a KEM; null is ignored.
 */
void ringforge_kem_free(RingforgeKem *kem);

/**
 * Compiles signing and verification. With `lookups`, signing reads tables at secret-dependent addresses: faster, but
 * only for a device that no attacker shares. Without, timing and memory accesses reveal nothing about keys and nonces.
 */
RingforgeCode ringforge_sm2_new(const RingforgeEngine *engine,
                                bool lookups,
                                RingforgeSm2 **sm2);

/**
 * Generates `batch` key pairs from the system's randomness. Item i of an array begins at i times the item's size.
 * `statuses` is null or has a word for each item: see `RingforgeItem`.
 */
RingforgeCode ringforge_sm2_generate(const RingforgeSm2 *sm2,
                                     size_t batch,
                                     uint8_t *private_keys,
                                     uint8_t *public_keys,
                                     uint32_t *statuses);

/**
 * Computes the digest to sign, SM3(Z || message), for each of `batch` messages. They are concatenated; message i has
 * `lengths[i]` bytes. `public_key_count` is `batch`, or 1 if all messages have the same signer. All signers have the
 * same identifier, of `id_bytes` bytes; if `id` is null, it is the standard's default. Runs on the CPU. `statuses` as
 * for `ringforge_sm2_generate`.
 */
RingforgeCode ringforge_sm2_digest(size_t batch,
                                   const uint8_t *public_keys,
                                   size_t public_key_count,
                                   const uint8_t *id,
                                   size_t id_bytes,
                                   const uint8_t *messages,
                                   const size_t *lengths,
                                   uint8_t *digests,
                                   uint32_t *statuses);

/**
 * Signs `batch` digests, each with its private key, or all with one if `private_key_count` is 1. `statuses` as for
 * `ringforge_sm2_generate`.
 */
RingforgeCode ringforge_sm2_sign(const RingforgeSm2 *sm2,
                                 size_t batch,
                                 const uint8_t *private_keys,
                                 size_t private_key_count,
                                 const uint8_t *digests,
                                 uint8_t *signatures,
                                 uint32_t *statuses);

/**
 * Verifies `batch` signatures of digests. Returns `RINGFORGE_CODE_OK` only if all are valid; otherwise `statuses`, as
 * for `ringforge_sm2_generate`, say which are not.
 */
RingforgeCode ringforge_sm2_verify(const RingforgeSm2 *sm2,
                                   size_t batch,
                                   const uint8_t *public_keys,
                                   const uint8_t *digests,
                                   const uint8_t *signatures,
                                   uint32_t *statuses);

/**
 * Frees a handle made by `ringforge_sm2_new`; null is ignored.
 */
void ringforge_sm2_free(RingforgeSm2 *sm2);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* RINGFORGE_H */
