/* Ringforge: number-theoretic transforms, polynomial arithmetic, key encapsulation and signatures, on CPUs and GPUs.

   Made from the crate ringforge-capi; its test writes this file with RINGFORGE_BLESS=1.

   - A function that can fail returns a RingforgeCode, and ringforge_message() then says in words what was wrong.
   - What a function named ..._new, or ringforge_engine_..., makes is ended by the function named ..._free. Handles may be
     shared by threads, as long as none ends them while another uses them.
   - Memory that is passed in belongs to the caller before, during and after the call. Arguments that are written must not
     overlap others. Pointers to nothing (a batch of 0) may be null.
   - A process that was forked off one at work has none of its threads, and is told so by an error: fork first.
   - No error ends the process, and nothing is printed. */

#ifndef RINGFORGE_H
#define RINGFORGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Evaluations in the order of the splitting tree, bit-reversed where every radix is 2: the fastest.
 */
#define RINGFORGE_TREE_ORDER 0

/**
 * Evaluations by ascending powers of the root.
 */
#define RINGFORGE_NATURAL_ORDER 1

/**
 * As a depth, the layers that lead to numbers: an error where a ring's transform ends at polynomials.
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
 * How a call went. `ringforge_message` says the same in words.
 */
enum RingforgeCode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * All well.
   */
  RINGFORGE_CODE_OK = 0,
  /**
   * The call went through, but some items of its batch came to nothing: their statuses say why, and their outputs are zero.
   */
  RINGFORGE_CODE_ITEMS = 1,
  /**
   * An argument is null, has the wrong size, is not aligned or overlaps another.
   */
  RINGFORGE_CODE_ARGUMENT = 2,
  /**
   * A residue is not below its modulus.
   */
  RINGFORGE_CODE_NOT_REDUCED = 3,
  /**
   * No such ring, or none that can do this.
   */
  RINGFORGE_CODE_RING = 4,
  /**
   * The device cannot do this, or there is nothing of this name.
   */
  RINGFORGE_CODE_UNSUPPORTED = 5,
  /**
   * There is no such GPU.
   */
  RINGFORGE_CODE_NO_DEVICE = 6,
  /**
   * A kernel cannot be compiled here.
   */
  RINGFORGE_CODE_COMPILER = 7,
  /**
   * Not enough memory.
   */
  RINGFORGE_CODE_OUT_OF_MEMORY = 8,
  /**
   * A call of the driver failed.
   */
  RINGFORGE_CODE_DRIVER = 9,
  /**
   * A mistake of Ringforge's own.
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
 * What the low byte of an item's status says. Above it is a number where the text has one, such as the place of a coefficient.
 */
enum RingforgeItem
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * All well.
   */
  RINGFORGE_ITEM_FINE = 0,
  /**
   * The seed gives no key.
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
   * SM2: the nonce is refused.
   */
  RINGFORGE_ITEM_NONCE_REFUSED = 7,
  /**
   * SM2: a number of the signature is out of range.
   */
  RINGFORGE_ITEM_SIGNATURE_RANGE = 8,
  /**
   * SM2: the signature is wrong.
   */
  RINGFORGE_ITEM_SIGNATURE_WRONG = 9,
  /**
   * The item was not finished; of all items where the call failed.
   */
  RINGFORGE_ITEM_NOT_REACHED = 254,
  /**
   * The item's status is none that a kernel should write.
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
 * A device with the programs made for it so far. Threads may share it.
 */
typedef struct RingforgeEngine RingforgeEngine;

/**
 * A key encapsulation mechanism made ready on an engine's device. Threads may share it.
 */
typedef struct RingforgeKem RingforgeKem;

/**
 * Page-locked host memory, on a CPU ordinary memory.
 */
typedef struct RingforgePinned RingforgePinned;

/**
 * A ring `Z_Q[x]/(f)`. Threads may share it.
 */
typedef struct RingforgeRing RingforgeRing;

/**
 * SM2 (GB/T 32918) made ready on an engine's device. Threads may share it.
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
 * What went wrong in this thread's last call that returned another code than `RINGFORGE_CODE_OK`, in words; empty if none has.
 * The text stays until the thread's next such call.
 */
const char *ringforge_message(void);

/**
 * The library's version, such as `0.1.0`. Never freed.
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
 * The name of the engine's device, which stays as long as the engine; of null it is empty.
 */
const char *ringforge_engine_device(const RingforgeEngine *engine);

/**
 * Drops all programs that are kept for later, and gives back what memory the device keeps for later.
 */
RingforgeCode ringforge_engine_trim(const RingforgeEngine *engine);

/**
 * Ends an engine; null is none. What was made with it may outlive it.
 */
void ringforge_engine_free(RingforgeEngine *engine);

/**
 * Makes the ring of a text such as `3457 : x^768 - x^384 + 1`; with several moduli, an RNS basis: `97,193 : x^16 + 1`.
 *
 * An element is one row of `ringforge_ring_degree` words for each of `ringforge_ring_limbs` moduli, one after another, lowest
 * coefficient first. A word has `ringforge_ring_word_bytes` bytes (2, 4, 8 or 32), in this machine's order; one of 32 is four
 * words of 8, lowest first, and in Montgomery form (times 2^256) unless the text ends in `: plain`.
 */
RingforgeCode ringforge_ring_new(const char *text,
                                 RingforgeRing **ring);

/**
 * The ring as text, from which it can be made again; it stays as long as the ring, and of null it is empty.
 */
const char *ringforge_ring_text(const RingforgeRing *ring);

/**
 * The degree of f; 0 for null.
 */
size_t ringforge_ring_degree(const RingforgeRing *ring);

/**
 * How many rows an element has, one for each modulus of the basis; 0 for null.
 */
size_t ringforge_ring_limbs(const RingforgeRing *ring);

/**
 * Bytes of a residue: 2, 4, 8 or 32; 0 for null.
 */
size_t ringforge_ring_word_bytes(const RingforgeRing *ring);

/**
 * Bytes of an element; 0 for null.
 */
size_t ringforge_ring_element_bytes(const RingforgeRing *ring);

/**
 * Layers of the deepest transform, for depths; negative for a ring without one, and for null.
 */
int32_t ringforge_ring_depth(const RingforgeRing *ring);

/**
 * Ends a ring; null is none.
 */
void ringforge_ring_free(RingforgeRing *ring);

/**
 * Transforms `batch` elements in host memory from coefficients to evaluations in this order, by `RINGFORGE_TO_NUMBERS` or by so
 * many layers: at most `ringforge_ring_depth`. `to` may be `from`; else they must not overlap.
 */
RingforgeCode ringforge_forward(const RingforgeEngine *engine,
                                const RingforgeRing *ring,
                                int32_t order,
                                int32_t depth,
                                const void *from,
                                void *to,
                                size_t batch);

/**
 * Transforms `batch` elements in host memory from evaluations in this order and of this depth to coefficients: the inverse of
 * `ringforge_forward`. `to` may be `from`; else they must not overlap.
 */
RingforgeCode ringforge_inverse(const RingforgeEngine *engine,
                                const RingforgeRing *ring,
                                int32_t order,
                                int32_t depth,
                                const void *from,
                                void *to,
                                size_t batch);

/**
 * Multiplies `batch` pairs of elements in host memory, coefficients to coefficients. Any ring has products, also one without
 * transforms. `product` must not overlap `a` or `b`, which may be the same.
 */
RingforgeCode ringforge_mul(const RingforgeEngine *engine,
                            const RingforgeRing *ring,
                            const void *a,
                            const void *b,
                            void *product,
                            size_t batch);

/**
 * Multiplies `batch` pairs of evaluations in host memory, all in this order and of this depth. `product` must not overlap `a` or `b`, which may
 * be the same.
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
 * As `ringforge_forward`, on memory of the engine's GPU: after all that is on the stream so far (a `CUstream` or
 * `cudaStream_t` of the GPU's primary context, null for the legacy default stream), and before what is put there later. It
 * returns when the work is started. Memory begins at a multiple of 16. Residues must be below their moduli, or the ring's text
 * end in `: any word`: nobody checks.
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
 * As `ringforge_inverse`, on memory of the engine's GPU in the order of a stream: see `ringforge_forward_on`.
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
 * As `ringforge_mul`, on memory of the engine's GPU in the order of a stream: see `ringforge_forward_on`.
 */
RingforgeCode ringforge_mul_on(const RingforgeEngine *engine,
                               const RingforgeRing *ring,
                               void *stream,
                               const void *a,
                               const void *b,
                               void *product,
                               size_t batch);

/**
 * As `ringforge_point_mul`, on memory of the engine's GPU in the order of a stream: see `ringforge_forward_on`.
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
 * Makes host memory of so many bytes, all zero, that copies to and from the engine's device go fastest with. Making it is
 * slow: make it once and use it again.
 */
RingforgeCode ringforge_pinned_new(const RingforgeEngine *engine,
                                   size_t bytes,
                                   RingforgePinned **pinned);

/**
 * Where the memory is, aligned to 16 bytes at least; null for none.
 */
void *ringforge_pinned_data(const RingforgePinned *pinned);

/**
 * Wipes the memory and gives it back; null is none.
 */
void ringforge_pinned_free(RingforgePinned *pinned);

/**
 * What a status of an item says, in words. The text stays until the thread's next call of this function.
 */
const char *ringforge_item_message(uint32_t status);

/**
 * The name of a mechanism, by numbers from 0 on; null beyond the last. Never freed.
 */
const char *ringforge_kem_name(size_t number);

/**
 * Makes the mechanism of this name ready, such as `CTRU-768`.
 */
RingforgeCode ringforge_kem_new(const RingforgeEngine *engine, const char *name, RingforgeKem **kem);

/**
 * Writes the sizes of items.
 */
RingforgeCode ringforge_kem_sizes(const RingforgeKem *kem, RingforgeKemSizes *sizes);

/**
 * Makes `batch` key pairs from the system's randomness. Item i lies at i times its size. `statuses` has a word for each item,
 * see `RingforgeItem`, or is null.
 */
RingforgeCode ringforge_kem_generate(const RingforgeKem *kem,
                                     size_t batch,
                                     uint8_t *public_keys,
                                     uint8_t *secret_keys,
                                     uint32_t *statuses);

/**
 * Writes whether each of `batch` public keys has the bytes that key generation gives such a key. CTRU and CNTR refuse others;
 * CTRU-Prime, whose format gives every string of bytes a meaning, takes them. On this machine's CPU.
 */
RingforgeCode ringforge_kem_are_canonical(const RingforgeKem *kem,
                                          size_t batch,
                                          const uint8_t *public_keys,
                                          bool *canonical);

/**
 * Makes a shared key and its ciphertext for each of `batch` public keys. CTRU and CNTR refuse public keys with a coefficient
 * that is not below the modulus; CTRU-Prime takes all bytes, see `ringforge_kem_are_canonical`. `statuses` as for
 * `ringforge_kem_generate`.
 */
RingforgeCode ringforge_kem_encapsulate(const RingforgeKem *kem,
                                        size_t batch,
                                        const uint8_t *public_keys,
                                        uint8_t *ciphertexts,
                                        uint8_t *shared_keys,
                                        uint32_t *statuses);

/**
 * Writes the shared key of each of `batch` ciphertexts by its secret key. A rejected ciphertext is no error: its key looks
 * random, and time and memory accesses do not tell. `statuses` as for `ringforge_kem_generate`.
 */
RingforgeCode ringforge_kem_decapsulate(const RingforgeKem *kem,
                                        size_t batch,
                                        const uint8_t *secret_keys,
                                        const uint8_t *ciphertexts,
                                        uint8_t *shared_keys,
                                        uint32_t *statuses);

/**
 * Ends a mechanism; null is none.
 */
void ringforge_kem_free(RingforgeKem *kem);

/**
 * Makes signing and verification ready. With `lookups`, signing reads tables at secret places: faster, and for a device of
 * one's own; without, time and memory accesses tell nothing of keys and nonces.
 */
RingforgeCode ringforge_sm2_new(const RingforgeEngine *engine,
                                bool lookups,
                                RingforgeSm2 **sm2);

/**
 * Makes `batch` key pairs from the system's randomness. Item i lies at i times its size. `statuses` has a word for each item,
 * see `RingforgeItem`, or is null.
 */
RingforgeCode ringforge_sm2_generate(const RingforgeSm2 *sm2,
                                     size_t batch,
                                     uint8_t *private_keys,
                                     uint8_t *public_keys,
                                     uint32_t *statuses);

/**
 * Writes the digest that is signed for each of `batch` messages, which lie one after another, `lengths[i]` bytes each. There
 * are as many public keys as messages, or one for all. The owners have one identifier of `id_bytes` bytes; where `id` is null
 * it is the standard's default. On this machine's CPU. `statuses` as for `ringforge_sm2_generate`.
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
 * Signs `batch` digests, each by its private key, or all by one where `private_key_count` is 1. `statuses` as for
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
 * Verifies `batch` signatures of digests. It returns `RINGFORGE_CODE_OK` only if all are right; else `statuses`, as for
 * `ringforge_sm2_generate`, say which are not.
 */
RingforgeCode ringforge_sm2_verify(const RingforgeSm2 *sm2,
                                   size_t batch,
                                   const uint8_t *public_keys,
                                   const uint8_t *digests,
                                   const uint8_t *signatures,
                                   uint32_t *statuses);

/**
 * Ends what `ringforge_sm2_new` made; null is none.
 */
void ringforge_sm2_free(RingforgeSm2 *sm2);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* RINGFORGE_H */
