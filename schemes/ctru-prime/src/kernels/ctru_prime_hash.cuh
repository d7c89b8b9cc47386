// Hashes of CTRU-Prime. Their inputs begin with the identity, the first 33 bytes of a public key. Include this header
// after the generated header prelude.cuh.
#pragma once
#include "keccak.cuh"

namespace rf {

constexpr u32 identity_bytes = 33;
constexpr u32 message_words = Set::message_pitch / 8, coins_words = Set::coins_pitch / 8;

// Returns 64-bit word i of a hash input: the first 33 bytes of the words id(0), id(1), …, then the words of the message
// rest(0), rest(1), ….
template <class Id, class Rest>
RF_FN u64 after_identity(Id id, u32 i, Rest rest) {
    if (i < 4) return id(i);
    u64 before = i == 4 ? id(4) << 56 : rest(i - 5);
    u64 here = i - 4 < message_words ? rest(i - 4) : 0;
    return before >> 56 | here << 8;
}

// Computes H = SHA3-512(identity || message). Writes the first half of H as the shared key (four words), and expands
// the second half to the encryption coins with SHAKE-256. The message must be zero-padded to a whole word.
template <class Id>
RF_FN void derive(Id id, const u64* message, u64* key, u64* coins) {
    u64 seed[4];
    Sha3_512 hash;
    hash.absorb<identity_bytes + Set::message>(
        [&](u32 i) { return after_identity(id, i, [&](u32 j) { return message[j]; }); });
    hash.squeeze<8>([&](u32 i, u64 word) {
        if (i < 4) key[i] = word;
        else seed[i - 4] = word;
    });
    Shake256 shake;
    shake.absorb<32>([&](u32 i) { return seed[i]; });
    shake.squeeze<coins_words>([&](u32 i, u64 word) { coins[i] = word; });
}

}  // namespace rf
