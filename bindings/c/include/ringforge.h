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
 * Value of `order`: evaluations in digit-reversed order, which is bit-reversed if every radix is 2. This is the
 * fastest order.
 */
#define RINGFORGE_DIGIT_REVERSED_ORDER 0

/**
 * Value of `order`: evaluations by ascending powers of the root of unity.
 */
#define RINGFORGE_NATURAL_ORDER 1

/**
 * Value of `depth`: all layers of a complete transform, whose evaluations are numbers. The call fails if the ring has
 * only an incomplete transform, whose evaluations are polynomials.
 */
#define RINGFORGE_TO_NUMBERS -1

/**
 * Bytes of an SM2 private key, big-endian.
 */
#define RINGFORGE_SM2_PRIVATE_KEY 32

/**
 * Bytes of an SM2 public key: x, then y, big-endian.
 */
#define RINGFORGE_SM2_PUBLIC_KEY 64

/**
 * Bytes of a digest that SM2 signs.
 */
#define RINGFORGE_SM2_DIGEST 32

/**
 * Bytes of an SM2 signature: r, then s, big-endian.
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
   * An argument is invalid: null, misaligned, not UTF-8, out of range, of the wrong size, or overlapping another.
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
   * The device does not support the operation, an incomplete transform needs a depth, there is no KEM of this name,
   * or this process was forked after work had begun.
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
   * The item succeeded.
   */
  RINGFORGE_ITEM_OK = 0,
  /**
   * The seed gives no key, because the polynomial sampled from it has no inverse.
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
   * ML-KEM: the hash in the secret key does not match the public key in it.
   */
  RINGFORGE_ITEM_WRONG_HASH = 4,
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
 * Points of a curve on an engine's device, which scalars are multiplied by. Threads may share it.
 */
typedef struct RingforgeBases RingforgeBases;

/**
 * A device with its cache of compiled programs. Threads may share it.
 */
typedef struct RingforgeEngine RingforgeEngine;

/**
 * A KEM (key encapsulation), compiled for an engine's device. Threads may share it.
 */
typedef struct RingforgeKem RingforgeKem;

/**
 * Page-locked host memory; for an engine on the CPU, ordinary memory.
 */
typedef struct RingforgePinned RingforgePinned;

/**
 * A ring `Z_Q[x]/(f)`, where Q is the product of the moduli and f a polynomial. Threads may share a handle.
 */
typedef struct RingforgeRing RingforgeRing;

/**
 * SM2 signatures (GB/T 32918), compiled for an engine's device. Threads may share it.
 */
typedef struct RingforgeSm2 RingforgeSm2;

/**
 * Sizes, in bytes, of the keys and the ciphertext of one item of a batch.
 */
typedef struct {
  /**
   * Bytes of a public key.
   */
  size_t public_key;
  /**
   * Bytes of a secret key.
   */
  size_t secret_key;
  /**
   * Bytes of a ciphertext.
   */
  size_t ciphertext;
  /**
   * Bytes of a shared key.
   */
  size_t shared_key;
} RingforgeKemSizes;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the error message of this thread's last failed call: one that did not return `RINGFORGE_CODE_OK`. Empty if
 * no call has failed. The message stays valid until the thread's next failed call.
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
 * Makes an engine on the CUDA GPU with this ordinal, in the GPU's primary context.
 */
RingforgeCode ringforge_engine_cuda(size_t ordinal, RingforgeEngine **engine);

/**
 * Returns the name of the engine's device. The string is valid until the engine is freed, and empty for null.
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
 * An element has `ringforge_ring_limbs` contiguous limbs, one for each modulus. A limb has `ringforge_ring_degree`
 * words, lowest coefficient first. A word has `ringforge_ring_word_bytes` bytes (2, 4, 8 or 32) in native byte order.
 * A word of 32 bytes is four 64-bit words, least significant first, in Montgomery form (times 2^256) unless the text
 * ends in `: plain`.
 */
RingforgeCode ringforge_ring_new(const char *text, RingforgeRing **ring);

/**
 * Returns the ring as text that `ringforge_ring_new` parses. The string is valid until the ring is freed, and empty
 * for null.
 */
const char *ringforge_ring_text(const RingforgeRing *ring);

/**
 * Returns the degree of the ring's polynomial f; 0 for null.
 */
size_t ringforge_ring_degree(const RingforgeRing *ring);

/**
 * Returns the number of limbs of an element, one for each modulus; 0 for null.
 */
size_t ringforge_ring_limbs(const RingforgeRing *ring);

/**
 * Returns the number of bytes of a residue: 2, 4, 8 or 32; 0 for null.
 */
size_t ringforge_ring_word_bytes(const RingforgeRing *ring);

/**
 * Returns the number of bytes of an element; 0 for null.
 */
size_t ringforge_ring_element_bytes(const RingforgeRing *ring);

/**
 * Returns the largest valid `depth`, which is the number of layers of the ring's deepest transform. Negative for null
 * and for a ring without a transform.
 */
int32_t ringforge_ring_depth(const RingforgeRing *ring);

/**
 * Frees a ring; null is ignored.
 */
void ringforge_ring_free(RingforgeRing *ring);

/**
 * Transforms `batch` elements in host memory from coefficients to evaluations in this order (forward NTT). `depth` is
 * `RINGFORGE_TO_NUMBERS` or a number of layers, at most `ringforge_ring_depth`. `to` may be equal to `from`, but must
 * not overlap it otherwise.
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
 * `ringforge_forward`. `to` may be equal to `from`, but must not overlap it otherwise.
 */
RingforgeCode ringforge_inverse(const RingforgeEngine *engine,
                                const RingforgeRing *ring,
                                int32_t order,
                                int32_t depth,
                                const void *from,
                                void *to,
                                size_t batch);

/**
 * Multiplies `batch` pairs of elements in host memory. Inputs and products are coefficients. Works in every ring,
 * including a ring without a transform. `product` must not overlap `a` or `b`; `a` and `b` may be equal.
 */
RingforgeCode ringforge_mul(const RingforgeEngine *engine,
                            const RingforgeRing *ring,
                            const void *a,
                            const void *b,
                            void *product,
                            size_t batch);

/**
 * Multiplies `batch` pairs of elements in host memory pointwise. Inputs and products are evaluations of this order and
 * depth. `product` must not overlap `a` or `b`; `a` and `b` may be equal.
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
 * Like `ringforge_forward`, on memory of the engine's GPU. The work runs after all earlier and before all later work
 * on `stream`, a `CUstream` or `cudaStream_t` of the GPU's primary context; null is the legacy default stream. Returns
 * once the work is enqueued. Addresses must be multiples of 16. Residues are not checked: they must be below their
 * moduli, unless the ring's text ends in `: any word`.
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
 * Like `ringforge_inverse`, on memory of the engine's GPU and on `stream`, with the conditions of
 * `ringforge_forward_on`.
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
 * Like `ringforge_mul`, on memory of the engine's GPU and on `stream`, with the conditions of `ringforge_forward_on`.
 */
RingforgeCode ringforge_mul_on(const RingforgeEngine *engine,
                               const RingforgeRing *ring,
                               void *stream,
                               const void *a,
                               const void *b,
                               void *product,
                               size_t batch);

/**
 * Like `ringforge_point_mul`, on memory of the engine's GPU and on `stream`, with the conditions of
 * `ringforge_forward_on`.
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
 * Allocates `bytes` bytes of zeroed host memory, for the fastest copies to and from the engine's device. Allocation is
 * slow: allocate once and reuse the memory.
 */
RingforgeCode ringforge_pinned_new(const RingforgeEngine *engine, size_t bytes, RingforgePinned **pinned);

/**
 * Returns the address of the memory, aligned to at least 16 bytes; null if `pinned` is null or the memory is empty.
 */
void *ringforge_pinned_data(const RingforgePinned *pinned);

/**
 * Wipes and frees the memory; null is ignored.
 */
void ringforge_pinned_free(RingforgePinned *pinned);

/**
 * Returns the message for an item's status. The message stays valid until the thread's next call of
 * `ringforge_item_message`.
 */
const char *ringforge_item_message(uint32_t status);

/**
 * Returns the name of KEM `number`, counted from 0, as a static string; null after the last KEM.
 */
const char *ringforge_kem_name(size_t number);

/**
 * Compiles the KEM of this name, such as `CTRU-768`, for the engine's device.
 */
RingforgeCode ringforge_kem_new(const RingforgeEngine *engine, const char *name, RingforgeKem **kem);

/**
 * Writes the sizes of the KEM's keys and ciphertexts to `sizes`.
 */
RingforgeCode ringforge_kem_sizes(const RingforgeKem *kem, RingforgeKemSizes *sizes);

/**
 * Generates `batch` key pairs from the system's randomness. Item i of an array begins at i times the item's size.
 * `statuses` is null or receives one word per item: see `RingforgeItem`.
 */
RingforgeCode ringforge_kem_generate(const RingforgeKem *kem,
                                     size_t batch,
                                     uint8_t *public_keys,
                                     uint8_t *secret_keys,
                                     uint32_t *statuses);

/**
 * Sets `canonical[i]` to true if public key i has a canonical encoding, as key generation produces it, else to false.
 * CTRU, CNTR and ML-KEM reject other encodings; CTRU-Prime accepts them, because it decodes any bytes to some key. Runs
 * on the CPU.
 */
RingforgeCode ringforge_kem_are_canonical(const RingforgeKem *kem,
                                          size_t batch,
                                          const uint8_t *public_keys,
                                          bool *canonical);

/**
 * Generates a shared key and its ciphertext for each of `batch` public keys. CTRU, CNTR and ML-KEM reject a public key
 * with a coefficient that is not below the modulus. CTRU-Prime accepts any bytes, see `ringforge_kem_are_canonical`.
 * `statuses` is as for `ringforge_kem_generate`.
 */
RingforgeCode ringforge_kem_encapsulate(const RingforgeKem *kem,
                                        size_t batch,
                                        const uint8_t *public_keys,
                                        uint8_t *ciphertexts,
                                        uint8_t *shared_keys,
                                        uint32_t *statuses);

/**
 * Computes the shared key of each of `batch` ciphertexts with its secret key. A rejected ciphertext is not an error:
 * its shared key is pseudorandom (implicit rejection), and timing and memory accesses do not reveal the rejection.
 * `statuses` is as for `ringforge_kem_generate`.
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
 * Compiles SM2 signing and verification. With `lookups`, signing reads tables at secret-dependent addresses, which is
 * faster, but safe only on a device that no attacker shares. Without `lookups`, timing and memory accesses reveal
 * nothing about keys and nonces.
 */
RingforgeCode ringforge_sm2_new(const RingforgeEngine *engine, bool lookups, RingforgeSm2 **sm2);

/**
 * Generates `batch` key pairs from the system's randomness. Item i of an array begins at i times the item's size.
 * `statuses` is null or receives one word per item: see `RingforgeItem`.
 */
RingforgeCode ringforge_sm2_generate(const RingforgeSm2 *sm2,
                                     size_t batch,
                                     uint8_t *private_keys,
                                     uint8_t *public_keys,
                                     uint32_t *statuses);

/**
 * Computes the digest to sign, SM3(Z || message), for each of `batch` messages. Z is the hash of the signer's
 * identifier and public key. The messages are concatenated; message i has `lengths[i]` bytes. `public_key_count` is
 * `batch`, or 1 if all messages have the same signer. All signers have the same identifier `id` of `id_bytes` bytes; a
 * null `id` is the standard's default. Runs on the CPU. `statuses` is as for `ringforge_sm2_generate`.
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
 * Signs `batch` digests, each with its private key, or all with one key if `private_key_count` is 1. `statuses` is as
 * for `ringforge_sm2_generate`.
 */
RingforgeCode ringforge_sm2_sign(const RingforgeSm2 *sm2,
                                 size_t batch,
                                 const uint8_t *private_keys,
                                 size_t private_key_count,
                                 const uint8_t *digests,
                                 uint8_t *signatures,
                                 uint32_t *statuses);

/**
 * Verifies `batch` signatures of digests. Returns `RINGFORGE_CODE_OK` only if all are valid. Otherwise `statuses`, as
 * for `ringforge_sm2_generate`, has an error for each invalid signature.
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

/**
 * Copies `count` points of a curve to the engine's device. `curve` is one of `bn254:g1`, `bn254:g2`, `bls12-381:g1`,
 * `bls12-381:g2`, `bls12-377:g1`, `pallas`, `vesta`, `secp256k1` and `sm2`.
 *
 * A point is x, then y, each of 64-bit words, least significant first, in Montgomery form: times 2^64 to the power of
 * the number of words of the prime. In a coordinate c0 + c1 u of G2, c0 is first. Zeros are infinity. gnark, arkworks
 * and snarkjs keep points so.
 *
 * With `checked`, points that are not on the curve are refused. With `in_subgroup`, the caller promises that the
 * group's order times each point is infinity, which saves time; if that is false, sums are wrong. If tables of
 * multiples take at most `table_bytes` of device memory, they are made on a GPU; 0 for none.
 */
RingforgeCode ringforge_bases_new(const RingforgeEngine *engine,
                                  const char *curve,
                                  const uint64_t *points,
                                  size_t count,
                                  bool checked,
                                  bool in_subgroup,
                                  size_t table_bytes,
                                  RingforgeBases **bases);

/**
 * Returns the number of 64-bit words of a point: 8, 12, 16 or 24; 0 for null.
 */
size_t ringforge_bases_point_words(const RingforgeBases *bases);

/**
 * Computes `batch` sums of the first `count` points times scalars. Scalar i of sum k is at place `count` k + i, in four
 * 64-bit words, least significant first: as a plain number, or in Montgomery form (times 2^256) with `montgomery`. A
 * scalar that is not below the group's order is an error with its place. Each sum is an affine point in the form of
 * `ringforge_bases_new`.
 */
RingforgeCode ringforge_msm(const RingforgeBases *bases,
                            const uint64_t *scalars,
                            size_t count,
                            size_t batch,
                            bool montgomery,
                            uint64_t *sums);

/**
 * Frees bases; null is ignored.
 */
void ringforge_bases_free(RingforgeBases *bases);

/**
 * Computes the coefficients of h = (a b - c) / (x^n - 1) with n = 2^`log_n`, as gnark's `ComputeH` does. The polynomials
 * a, b and c have degrees below n, and are given by their evaluations at the powers of g^((r - 1) / n). This is a root of
 * unity of order n, where r is the order of `curve`. The curve is `bn254`, `bls12-381` or `bls12-377`, with g = 5, 7 or 22.
 *
 * `a`, `b` and `c` have n elements each, in natural order, and `h` gets n: coefficient i at place i, or with
 * `bit_reversed` at the place whose bits are those of i in reverse, as gnark keeps it. An element is four 64-bit words,
 * least significant first, in Montgomery form (times 2^256). One that is not below r is an error. The products a b and c
 * must be equal at the powers of the root; this is not checked.
 */
RingforgeCode ringforge_groth16_quotient(const RingforgeEngine *engine,
                                         const char *curve,
                                         uint32_t log_n,
                                         bool bit_reversed,
                                         const uint64_t *a,
                                         const uint64_t *b,
                                         const uint64_t *c,
                                         uint64_t *h);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* RINGFORGE_H */
