#!/usr/bin/env bash
# Checks that the published crates and those of the bindings compile for other systems.
#
#   scripts/systems.sh [options of cargo check]
set -euo pipefail
cd "$(dirname "$0")/.."
for target in x86_64-pc-windows-gnu aarch64-apple-darwin aarch64-unknown-linux-gnu; do
    rustup target add "$target"
    echo "$target"
    # the adapters to third-party provers are checked for one target only, because they have many dependencies and their
    # code depends only on the processor
    provers=()
    [ "$target" != aarch64-apple-darwin ] || provers=(-p ringforge-arkworks -p ringforge-plonky3)
    # the Python package is not checked: it needs a Python of the target
    cargo check "$@" --locked --quiet --target "$target" -p ringforge -p ringforge-bfv -p ringforge-ckks -p ringforge-ctru -p ringforge-ctru-prime \
        -p ringforge-sm2 -p ringforge-bindings "${provers[@]}"
done
