#!/usr/bin/env bash
# Plants faults in the CKKS crate that keep decryption correct but break security, one at a time. For each fault, a test
# must fail. The script changes files of this checkout while it runs, and restores them.
#
#   scripts/planted-faults.sh [options of cargo test]
set -euo pipefail
cd "$(dirname "$0")/.."
kept=$(mktemp -d)
files=(schemes/ckks/src/steps.rs schemes/ckks/src/randomness.rs)
# keeps the files' times, so that cargo does not recompile restored files
cp -p --parents "${files[@]}" "$kept"
restore() { cp -p "$kept/schemes/ckks/src/"*.rs schemes/ckks/src/; }
trap 'restore; rm -rf "$kept"' EXIT

# plant NAME FILE FROM TO TEST: replaces FROM, which must occur once, by TO, and runs TEST, which must fail.
plant() {
    python3 - "$2" "$3" "$4" <<'PYTHON'
import sys
path, old, new = sys.argv[1:]
text = open(path).read()
if text.count(old) != 1:
    sys.exit(f"{path}: expected one occurrence, found {text.count(old)}: {old}")
open(path, "w").write(text.replace(old, new))
PYTHON
    local log="$kept/log"
    if cargo test "${options[@]}" --locked --release --workspace --lib -- --exact "distributions::$5" >"$log" 2>&1; then
        echo "MISSED: $1"
        exit 1
    fi
    grep -q "test distributions::$5 ... FAILED" "$log" || { tail -n 40 "$log"; exit 1; }
    echo "refused: $1"
    restore
}

# the crate is not optimised, so it compiles fast; other builds stay valid, because these options differ from theirs
options=("$@" --config "profile.release.package.ringforge-ckks.opt-level=0")
steps=schemes/ckks/src/steps.rs
plant "the system's randomness is a constant" schemes/ckks/src/randomness.rs \
    'return Ok(RandomKey::from_os()?)' 'return Ok(RandomKey::from_bytes(&[1; 32])?)' system_randomness_never_repeats
plant "a public key without error" $steps \
    '[e - a * self.secret(p).limbs(0..limbs), a]' '[e - e - a * self.secret(p).limbs(0..limbs), a]' public_keys_have_errors
plant "a secret key of zero" $steps \
    'p.output("s", s.secret().forward());' 'p.output("s", (s - s).secret().forward());' secret_keys_are_uniform_ternary
plant "an encryption with v = 0" $steps \
    'sample(Distribution::Ternary), p.elements("message"' \
    'sample(Distribution::Ternary).scale(&[U256::ZERO]), p.elements("message"' ciphertexts_have_all_their_noise
plant "switching keys without error" $steps \
    'e - of(j) * to + from.scale' 'e - e - of(j) * to + from.scale' switching_keys_have_errors
plant "a second part of ciphertexts without error" $steps \
    'v * a + sample(errors)]' 'v * a]' ciphertexts_have_all_their_noise
