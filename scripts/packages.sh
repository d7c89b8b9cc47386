#!/usr/bin/env bash
# Packages every published crate and unpacks the archives into an empty folder, without the rest of this repository. In
# this folder it documents the crates, runs their doc tests, and builds and runs README's first example in a new crate.
#
#   scripts/packages.sh [options of cargo doc]
#
# The published crates find one another by path, because no registry has them. Other crates come from cargo's local
# copies.
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR

# name, version and folder of each published crate
published=$(cargo metadata --locked --no-deps --format-version 1 | python3 -c '
import json, os, sys
wanted = ["description", "license", "readme", "keywords", "categories", "rust_version"]
for package in json.load(sys.stdin)["packages"]:
    if package["publish"] != []:
        missing = [field for field in wanted if not package[field]]
        if not package["metadata"] or "docs" not in package["metadata"]:
            missing.append("metadata for docs.rs")
        if missing:
            sys.exit("{}: missing {}".format(package["name"], ", ".join(missing)))
        print(package["name"], package["version"], os.path.dirname(package["manifest_path"]))')
flags=() quick=()
while read -r name _; do
    flags+=(-p "$name")
    # each crate is recompiled at its new path: optimised, this takes minutes, and doc tests take seconds either way
    quick+=(--config "profile.release.package.$name.opt-level=0")
done <<<"$published"

# removes archives of other versions from the target folder
archives="$CARGO_TARGET_DIR/package"
rm -f "$archives"/*.crate
cargo package --locked --offline --allow-dirty --no-verify --quiet "${flags[@]}"

away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
# uses the profiles and the lock file of this repository, so that builds of other crates are reused
{
    printf '[workspace]\nresolver = "3"\nmembers = ["*-*", "newcomer"]\n\n[patch.crates-io]\n'
    while read -r name version _; do printf '%s = { path = "%s" }\n' "$name" "$name-$version"; done <<<"$published"
    sed -n '/^\[profile/,$p' Cargo.toml
} >"$away/Cargo.toml"
cp Cargo.lock "$away/"
while read -r name version _; do
    # sets new file times (tar -m): all archives have the same times, so cargo would reuse builds of earlier archives
    tar -C "$away" -xzmf "$archives/$name-$version.crate"
    for file in LICENSE-MIT LICENSE-APACHE README.md; do
        [ -s "$away/$name-$version/$file" ] || { echo "$name has no $file" >&2 && exit 1; }
    done
done <<<"$published"

# the crate `newcomer` is the first code block of README
mkdir -p "$away/newcomer/src"
version=$(awk '$1 == "ringforge" { print $2 }' <<<"$published")
printf '[package]\nname = "newcomer"\nedition = "2024"\n\n[dependencies]\nringforge = { path = "../ringforge-%s" }\n' "$version" >"$away/newcomer/Cargo.toml"
awk '/^```rust$/ { inside = 1; next } /^```$/ && inside { exit } inside' "$away/ringforge-$version/README.md" >"$away/newcomer/src/main.rs"

cd "$away"
# removes packages that these crates do not need from the lock file
cargo update --offline --workspace --quiet
RUSTFLAGS="-D warnings" RUSTDOCFLAGS="-D warnings" cargo doc "$@" --locked --offline --no-deps --workspace --exclude newcomer
# doc tests of ringforge-math and ringforge-runtime are left out: they use `ringforge`, which depends on these crates
cargo test "${quick[@]}" --locked --offline --release --doc --workspace --exclude newcomer --exclude ringforge-math --exclude ringforge-runtime
cargo run "${quick[@]}" --locked --offline --release --quiet -p newcomer
