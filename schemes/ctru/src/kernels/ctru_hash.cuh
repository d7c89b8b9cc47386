// Hashes of CTRU and CNTR. Their inputs begin with the identity, the first 33 bytes of a public key.
#pragma once
#include "keccak.cuh"

namespace rf {

constexpr u32 identity_bytes = 33;

// Returns 64-bit word i of a hash input: the 33 bytes at `id`, followed by the words rest(0) to rest(Words - 1).
template <u32 Words, class Rest>
RF_FN u64 after_identity(const u64* id, u32 i, Rest rest) {
    if (i < 4) return id[i];
    u64 before = i == 4 ? id[4] << 56 : rest(i - 5);
    u64 here = i - 4 < Words ? rest(i - 4) : 0;
    return before >> 56 | here << 8;
}

// Computes H = SHA3-512(identity || message). Writes the first half of H as the shared key (four words), and expands
// the second half to the encryption coins with SHAKE-256.
RF_FN void derive(const u64* id, const u64* message, u64* key, u64* coins) {
    u64 seed[4];
    Sha3_512 hash;
    hash.absorb<identity_bytes + Set::message>([&](u32 i) {
        return after_identity<Set::message / 8>(id, i, [&](u32 j) { return message[j]; });
    });
    hash.squeeze<8>([&](u32 i, u64 word) {
        if (i < 4) key[i] = word;
        else seed[i - 4] = word;
    });
    Shake256 shake;
    shake.absorb<32>([&](u32 i) { return seed[i]; });
    shake.squeeze<Set::encrypt_coins / 8>([&](u32 i, u64 word) { coins[i] = word; });
}

}  // namespace rf
