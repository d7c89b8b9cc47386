#!/usr/bin/env bash
# Checks the published crates, and those of the bindings, for other systems.
#
#   scripts/systems.sh [options of cargo check]
set -euo pipefail
cd "$(dirname "$0")/.."
for target in x86_64-pc-windows-gnu aarch64-apple-darwin aarch64-unknown-linux-gnu; do
    rustup target add "$target"
    echo "$target"
    # other crates' provers are built for one: their dependencies are many, and what differs is the processor
    provers=()
    [ "$target" != aarch64-apple-darwin ] || provers=(-p ringforge-arkworks -p ringforge-plonky3)
    # the Python package asks for a Python of the target
    cargo check "$@" --locked --quiet --target "$target" -p ringforge -p ringforge-ckks -p ringforge-ctru -p ringforge-ctru-prime \
        -p ringforge-sm2 -p ringforge-bindings "${provers[@]}"
done
