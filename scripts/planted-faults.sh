#!/usr/bin/env bash
# Plants faults that keep a scheme working but break its security, one at a time: in what schemes on ring LWE share, CKKS,
# ML-DSA and ML-KEM. For each fault, a test must fail. The script changes files of this checkout while it runs, and
# restores them.
#
#   scripts/planted-faults.sh rlwe|ckks|ml-dsa|ml-kem|all [options of cargo test]
set -euo pipefail
cd "$(dirname "$0")/.."
kept=$(mktemp -d)
restore() { cp -rp "$kept/." .; }
trap 'restore; rm -rf "$kept"' EXIT

# plant NAME FILE FROM TO TEST: replaces FROM, which must occur once, by TO, and runs TEST of the crate $crate, which must
# fail.
plant() {
    # keeps the file's time, so that cargo does not recompile the restored file
    cp -p --parents "$2" "$kept"
    python3 - "$2" "$3" "$4" <<'PYTHON'
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
if text.count(old) != 1:
    sys.exit(f"{path}: expected one occurrence, found {text.count(old)}: {old}")
open(path, "w").write(text.replace(old, new))
PYTHON
    local log; log=$(mktemp)
    # the crate is hardly optimised, so it compiles fast; other builds stay valid, because these options differ from theirs
    if cargo test "${options[@]}" --config "profile.release.package.$crate.opt-level=$level" --locked --release "${tests[@]}" \
        -- --exact "$5" >"$log" 2>&1; then
        echo "MISSED: $1"
        exit 1
    fi
    grep -q "test $5 ... FAILED" "$log" || { tail -n 40 "$log"; exit 1; }
    rm "$log"
    echo "refused: $1"
    restore
}
wanted=$1 options=("${@:2}")
# starts the faults of a crate, unless others are wanted
faults_of() {
    crate=ringforge-$1 level=$2 tests=("${@:3}")
    [ "$wanted" = all ] || [ "$wanted" = "$1" ]
}

if faults_of rlwe 0 --workspace --lib; then
    steps=schemes/rlwe/src/basis.rs
    plant "the system's randomness is a constant" schemes/rlwe/src/randomness.rs \
        'return Ok(RandomKey::from_os()?)' 'return Ok(RandomKey::from_bytes(&[1; 32])?)' \
        distributions::system_randomness_never_repeats
    plant "a public key without error" $steps \
        '[e - a * self.secret(p).limbs(0..limbs), a]' '[e - e - a * self.secret(p).limbs(0..limbs), a]' \
        distributions::public_keys_have_errors
    plant "a secret key of zero" $steps \
        'p.output("s", s.secret().forward());' 'p.output("s", (s - s).secret().forward());' \
        distributions::secret_keys_are_uniform_ternary
    plant "an encryption with v = 0" $steps \
        'sample(Distribution::Ternary), p.elements("message"' \
        'sample(Distribution::Ternary).scale(&[U256::ZERO]), p.elements("message"' distributions::ciphertexts_have_all_their_noise
    plant "switching keys without error" $steps \
        'e - of(j) * s + from.scale' 'e - e - of(j) * s + from.scale' distributions::switching_keys_have_errors
    plant "a second part of ciphertexts without error" $steps \
        'v * a + sample(errors)]' 'v * a]' distributions::ciphertexts_have_all_their_noise
fi

if faults_of ckks 0 --workspace --lib; then
    plant "raising keys without error" schemes/ckks/src/bootstrapping/raising.rs \
        'let b = e - a * to' 'let b = e - e - a * to' \
        bootstrapping::raising::tests::keys_have_errors_and_few_bits_under_the_sparse_secret
fi

if faults_of ml-dsa 1 -p ringforge-ml-dsa --test main; then
    item=schemes/ml-dsa/src/item.rs coding=schemes/ml-dsa/src/coding.rs
    agreement=batch::signatures_are_those_of_another_implementation
    plant "masks without randomness" $item 'h(&[&secret_key[SEED..2 * SEED], random, mu], seed);' \
        'h(&[&secret_key[SEED..2 * SEED], &random[..0], mu], seed);' $agreement
    plant "attempts share masks" $item 'wrapping_mul(l as u16)' 'wrapping_mul(1)' $agreement
    plant "responses tell about s1" $item 'bad | is_large(z, gamma1 - p.beta())' 'bad | is_large(z, gamma1)' $agreement
    plant "low bits tell about s2" $item 'p.gamma2 - p.beta()) |' 'p.gamma2) |' $agreement
    plant "a rejected attempt leaves its response" $item $'if is_bad {\n            signature.fill(0);' \
        $'if is_bad {\n            to_hash.fill(0);' bounds::rejected_attempts_leave_nothing
    plant "more hints than omega" $item '> p.omega;' '> p.omega + N;' bounds::bounds_of_attempts_are_those_of_fips_204
    plant "c t0 of any size" $item '| is_large(*ct0, p.gamma2)' '| is_large(*ct0, Q / 2)' \
        bounds::bounds_of_attempts_are_those_of_fips_204
    plant "verification accepts a large z" $item 'any(|&z| is_large(z, gamma1 - p.beta()))' 'any(|&z| is_large(z, gamma1))' \
        bounds::bounds_of_verification_are_those_of_fips_204
    plant "repeated places of hints" $coding 'is_sorted_by(|a, b| a < b)' 'is_sorted_by(|a, b| a <= b)' \
        bounds::encodings_of_hints_are_those_of_fips_204
    plant "padding behind hints" $coding 'valid & places[at..].iter().all(|&place| place == 0)' 'valid' \
        bounds::encodings_of_hints_are_those_of_fips_204
    plant "half of the challenge is compared" $item 'slot.starts_with(&hash)' 'slot.starts_with(&hash[..16])' \
        bounds::each_byte_of_a_challenge_is_compared
    plant "a wrong signature is released" $item 'if *attempted == OK { *verified }' 'if *attempted == OK { OK }' \
        bounds::wrong_signatures_are_not_released
    plant "signatures are not verified" schemes/batch/src/signatures.rs 'verifies: true' 'verifies: false' \
        bounds::wrong_signatures_are_not_released
fi

if faults_of ml-kem 1 -p ringforge-ml-kem --test main; then
    item=schemes/ml-kem/src/item.rs
    plant "a part of the ciphertext is compared" $item 'again.ct_eq(sent)' 'again[..32].ct_eq(&sent[..32])' \
        bounds::each_part_of_a_ciphertext_is_compared
    plant "rejected keys do not depend on the ciphertext" $item 'j(z, ciphertext, rejected);' 'j(z, &ciphertext[..0], rejected);' \
        bounds::each_part_of_a_ciphertext_is_compared
    plant "the seed d instead of z" $item 'rest[SEED..].copy_from_slice(&seeds[SEED..]);' \
        'rest[SEED..].copy_from_slice(&seeds[..SEED]);' vectors::accumulated_512
    plant "coefficients of q in public keys" $item 'value >= Q' 'value > Q' bounds::coefficients_of_public_keys_are_below_q
    plant "secret keys with a wrong hash" $item '(!is_whole).then_some' 'false.then_some' batch::bad_items_are_reported_and_isolated
fi
