#!/usr/bin/env bash
# Runs the checks that a release needs in addition to CI. CONTRIBUTING.md describes each step and how long it takes.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0 RUSTFLAGS="-D warnings"
tools="${RINGFORGE_CI_TOOLS:-$HOME/.cache/ringforge-ci}"
unoptimised=(--config 'profile.dev.package."*".opt-level=0')
source scripts/steps.sh

schemes=(ringforge-arkworks ringforge-bfv ringforge-ckks ringforge-ctru ringforge-ctru-prime ringforge-ml-dsa ringforge-ml-kem ringforge-msm ringforge-serve ringforge-sm2)

oldest=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
step "Rust $oldest, the oldest that is supported, and each crate alone without default features"
rustup toolchain list | grep -q "^$oldest" || rustup toolchain install "$oldest" --profile minimal --no-self-update
# the command-line tool and Plonky3 need a newer Rust
cargo "+$oldest" check "${unoptimised[@]}" --locked -p ringforge "${schemes[@]/#/-p}"
for crate in ringforge "${schemes[@]}" ringforge-tests; do
    cargo "+$oldest" check "${unoptimised[@]}" --locked -p "$crate" --no-default-features
done

step "CTRU beside PQClean"
cargo test "${unoptimised[@]}" --locked -p ringforge-bench --features pqclean --bins -- suites::

step "other systems"
scripts/systems.sh "${unoptimised[@]}"

step "advisories"
"$tools/cargo-deny-0.20.2/bin/cargo-deny" --locked check advisories

step "packages, from their archives"
scripts/packages.sh "${unoptimised[@]}"

unset RUSTFLAGS
step "machine code at every level of optimisation"
RINGFORGE_MACHINE_CODE=all cargo test --locked --release -p ringforge-constant-time

step "the stack that transforms take, with little optimisation and without any"
for level in 1 0; do
    cargo test --locked --release -p ringforge --lib \
        --config "profile.release.package.ringforge.opt-level=$level" \
        --config "profile.release.package.ringforge-cpu.opt-level=$level" -- stack::
done

step "the whole catalogue through NVIDIA's compiler"
LD_LIBRARY_PATH="$tools/nvrtc-13.0.88/nvidia/cu13/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" RINGFORGE_REQUIRE_NVRTC=1 RINGFORGE_CATALOGUE=whole \
    cargo test --locked --release -p ringforge-tests -p ringforge-plonky3 --test main -- compile::

step "faults planted in ML-DSA and ML-KEM"
for scheme in ml-dsa ml-kem; do
    scripts/planted-faults.sh $scheme
done

step "faults planted in the kernels of multi-scalar multiplication"
cargo test --locked --release -p ringforge-msm --test main -- --ignored faults::

step "proofs of a thousand random AIRs"
RINGFORGE_AIRS=334 cargo test --locked --release -p ringforge-plonky3 --test main -- random_constraints

step "ten thousand shapes of Plonky3's transforms, and on a GPU large ones and proofs that fill its memory"
cargo test --locked --release -p ringforge-plonky3 --test main -- --ignored dft:: large_extensions

step "proofs in a row, a minute for each field"
RINGFORGE_SOAK=60 cargo test --locked --release -p ringforge-plonky3 --test main -- --ignored --test-threads 1 soak::

step "Groth16 proofs in CUDA source, in the emulator"
cargo test --locked --release -p ringforge-arkworks --test main -- --ignored proofs_in_cuda_source

step "fuzz targets, a minute each"
fuzz="$tools/cargo-fuzz-0.13.1"
[ -x "$fuzz/bin/cargo-fuzz" ] || cargo install --quiet --locked --root "$fuzz" cargo-fuzz@0.13.1
for target in ring tuning bundle ckks circom; do
    "$fuzz/bin/cargo-fuzz" run --sanitizer none "$target" -- -max_total_time=60
done

step "done"
