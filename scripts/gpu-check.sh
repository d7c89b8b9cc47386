#!/usr/bin/env bash
# Tests and measures on a GPU machine without Rust.
#
#   scripts/gpu-check.sh bundle          builds test programs and tools into target/gpu, on a machine with Rust;
#   scripts/gpu-check.sh run [STAGE ...] runs them on the GPU machine, in the repository's root with target/gpu
# Stages: correctness, bindings, sanitize, bench, tune, papers; by default the first four. Results are written to $OUT,
# or target/gpu/out.
set -euo pipefail
cd "$(dirname "$0")/.."
bundle=target/gpu
most_bytes=$((48 << 20))

# Prints a line for each test program: its crate's folder and its name, joined by -, and its path.
programs() {
    cargo test --release --workspace --no-run --message-format=json |
        sed -n 's,.*"package_id":"path+file://[^"]*/\([^/"#]*\)#.*"kind":\["\(test\|lib\)"\].*"name":"\([^"]*\)".*"executable":"\([^"]*\)".*,\1-\3 \4,p'
}

build() {
    local list release="${CARGO_TARGET_DIR:-target}/release"
    # the commit that measurement records state
    RINGFORGE_COMMIT=$(git rev-parse HEAD)
    git diff --quiet HEAD || RINGFORGE_COMMIT+=" and changes"
    export RINGFORGE_COMMIT
    list=$(programs)
    # the whole workspace, so that features equal those of the tests and nothing is compiled twice
    cargo build --release --workspace --lib --bins --examples
    rm -rf "$bundle"
    mkdir -p "$bundle/tests"
    while read -r name path; do
        # test programs that do not use a GPU; of the crates' own tests, those of the runtime need two
        case "$name" in
            runtime-ringforge_runtime) ;;
            bench-* | constant-time-* | capi-* | tests-wiping | batch-* | sm2-fork | *-ringforge_*) continue ;;
        esac
        cp "$path" "$bundle/tests/$name"
    done <<<"$list"
    cp "$release/ringforge-bench" "$release/examples/groth16" "$bundle/"
    cp "$release/examples/ml-kem-rates" "$bundle/bench-ml-kem"
    # the Python package with what its tests need, and the C library
    python3 -m pip install --quiet --target "$bundle/site" pytest
    cp -r bindings/python/package/pyringforge "$bundle/site/"
    cp "$release/libringforge_python.so" "$bundle/site/pyringforge/_native.abi3.so"
    cp "$release/libringforge_capi.so" "$bundle/libringforge.so.0.1"
    strip "$bundle"/{ringforge-bench,groth16,bench-ml-kem} "$bundle"/tests/*
    pwd >"$bundle/root"
    # the programs share most of their code, so the dictionary spans several programs
    tar -C "$bundle" -c --remove-files ringforge-bench groth16 bench-ml-kem tests site libringforge.so.0.1 | xz -T1 --lzma2=preset=1,dict=192MiB >"$bundle/programs.tar.xz"
    local bytes
    bytes=$(du -sb "$bundle" | cut -f1)
    tar -tvJf "$bundle/programs.tar.xz"
    echo "$bundle: $((bytes >> 20)) MiB"
    if [ "$bytes" -gt "$most_bytes" ]; then
        echo "$bundle is larger than $((most_bytes >> 20)) MiB, the most that can be copied to the GPU machine" >&2
        return 1
    fi
}

summary=()

# try NAME COMMAND: runs the command with its output in a file. If the command fails, prints the end of the output and
# counts a failure, but does not end the script.
try() {
    local name="$1" start=$SECONDS verdict=passed
    shift
    "$@" >"$out/$name.log" 2>&1 || verdict="FAILED ($?)"
    [ "$verdict" = passed ] || { failures=$((failures + 1)); echo "--- $name"; tail -n 40 "$out/$name.log"; }
    summary+=("$(printf '%-32s %-14s %5d s' "$name" "$verdict" "$((SECONDS - start))")")
}

correctness() {
    try check "$bundle/ringforge-bench" check --all --device cuda
    tail -n 1 "$out/check.log"
    local program
    for program in "$bundle"/tests/*; do
        # the skipped tests need no GPU, and CI runs them
        try "test-$(basename "$program")" "$program" --test-threads 4 --skip emulator --skip injection:: --skip golden:: \
            --skip compile:: --skip figures:: --skip encodings:: --skip book::
    done
    try proofs-in-a-row env RINGFORGE_SOAK=60 "$bundle/tests/plonky3-main" --ignored --test-threads 1 soak::
    try many-signatures "$bundle/tests/ml-dsa-main" --ignored many_signatures
    try large-proofs "$bundle/tests/plonky3-main" --ignored large_extensions
    try groth16 "$bundle/groth16" 16
    cat "$out/groth16.log"
}

# Tests the bindings for Python and C. Needs a Python with numpy; most tests also need torch, CuPy and JAX.
bindings() {
    local example here="$PWD"
    export PYTHONPATH="$here/$bundle/site${PYTHONPATH:+:$PYTHONPATH}"
    try python-tests python3 -m pytest -q -rs -p no:cacheprovider bindings/python/tests
    tail -n 12 "$out/python-tests.log"
    try python-rates python3 bindings/python/examples/multiply_and_agree.py --batch 1000000
    try python-device-rate python3 bindings/python/examples/device_rate.py
    cat "$out/python-rates.log" "$out/python-device-rate.log"
    for example in scheme fhe zk kem sm2 device; do
        try "c-$example" sh -c "cc -std=c11 -O1 -I bindings/c/include bindings/c/examples/$example.c $bundle/libringforge.so.0.1 -Wl,-rpath,'$here/$bundle' -o '$bundle/c-$example' && '$bundle/c-$example'"
        cat "$out/c-$example.log"
    done
}

sanitize() {
    local tool sanitizer
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -n 1 || true)
    if [ -z "$sanitizer" ]; then
        summary+=("sanitize: compute-sanitizer is not on this machine")
        failures=$((failures + 1))
        return
    fi
    for tool in memcheck racecheck synccheck initcheck; do
        # the driver reports the end of a kernel's parameter list by an error, which memcheck would count
        local options=(--tool "$tool" --error-exitcode 9)
        [ "$tool" != memcheck ] || options+=(--report-api-errors no)
        try "sanitize-$tool" "$sanitizer" "${options[@]}" "$bundle/ringforge-bench" check --device cuda
        grep "SUMMARY" "$out/sanitize-$tool.log" || true
    done
}

bench() {
    try rates "$bundle/ringforge-bench" bench rates --device cuda --out "$out/rates.json"
    cat "$out/rates.log"
    try bench "$bundle/ringforge-bench" bench --device cuda --out "$out/bench.json"
    cat "$out/bench.log"
    try bench-ml-kem "$bundle/bench-ml-kem"
    cat "$out/bench-ml-kem.log"
}

papers() {
    try papers "$bundle/ringforge-bench" bench papers --device cuda --out "$out/papers.json"
    cat "$out/papers.log"
}

tune() {
    try tune "$bundle/ringforge-bench" tune --device cuda --out "$out/tuning.toml"
    cat "$out/tune.log"
}

run() {
    out="${OUT:-$bundle/out}"
    failures=0
    mkdir -p "$out"
    tar -C "$bundle" -xJf "$bundle/programs.tar.xz"
    # tests look for files of the checkout at the path where they were built
    local root
    root=$(cat "$bundle/root")
    [ -e "$root" ] || { mkdir -p "$(dirname "$root")" && ln -s "$PWD" "$root"; } || true
    export RINGFORGE_REQUIRE_GPU=1 RUST_BACKTRACE=1
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || true
    local stage
    for stage in "${@:-all}"; do
        case "$stage" in
            correctness | bindings | sanitize | bench | tune | papers) "$stage" ;;
            all) correctness && bindings && sanitize && bench ;;
            *) echo "unknown stage $stage: see $0" >&2 && return 2 ;;
        esac
    done
    printf '\n'
    printf '%s\n' "${summary[@]}"
    # only a few files can be copied back, so all logs go into one archive
    tar -C "$out" -czf "$out/logs.tar.gz" --exclude logs.tar.gz --remove-files $(cd "$out" && ls ./*.log)
    return $((failures > 0))
}

case "${1:-}" in
    bundle) build ;;
    run) run "${@:2}" ;;
    *) sed -n '2,7s/^# \?//p' "$0" && exit 2 ;;
esac
