#!/usr/bin/env bash
# Packages every crate that is published, unpacks the archives into an empty folder, and there, with nothing else of this
# repository: documents them, runs their doc tests, and walks as a newcomer does, from an empty crate to README's first example.
#
#   scripts/packages.sh [options of cargo doc]
#
# The crates find one another by path, as no registry has them. Other crates come from where cargo has them already.
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR

# name, version and folder of each crate that is published
published=$(cargo metadata --locked --no-deps --format-version 1 | python3 -c '
import json, os, sys
wanted = ["description", "license", "readme", "keywords", "categories", "rust_version"]
for package in json.load(sys.stdin)["packages"]:
    if package["publish"] != []:
        missing = [field for field in wanted if not package[field]]
        if not package["metadata"] or "docs" not in package["metadata"]:
            missing.append("metadata for docs.rs")
        if missing:
            sys.exit("{}: no {}".format(package["name"], ", ".join(missing)))
        print(package["name"], package["version"], os.path.dirname(package["manifest_path"]))')
flags=() quick=()
while read -r name _; do
    flags+=(-p "$name")
    # compiled again, as they lie elsewhere: optimised, that takes minutes, and doc tests take seconds either way
    quick+=(--config "profile.release.package.$name.opt-level=0")
done <<<"$published"

# archives are of a target folder of their own, and so are not found there by another version
archives="$CARGO_TARGET_DIR/package"
rm -f "$archives"/*.crate
cargo package --locked --offline --allow-dirty --no-verify --quiet "${flags[@]}"

away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
# profiles and lock as here, so that other crates' builds serve again
{
    printf '[workspace]\nresolver = "3"\nmembers = ["*-*", "newcomer"]\n\n[patch.crates-io]\n'
    while read -r name version _; do printf '%s = { path = "%s" }\n' "$name" "$name-$version"; done <<<"$published"
    sed -n '/^\[profile/,$p' Cargo.toml
} >"$away/Cargo.toml"
cp Cargo.lock "$away/"
while read -r name version _; do
    # new files by their times: those in archives are all alike, and what was built of earlier ones would pass for theirs
    tar -C "$away" -xzmf "$archives/$name-$version.crate"
    for file in LICENSE-MIT LICENSE-APACHE README.md; do
        [ -s "$away/$name-$version/$file" ] || { echo "$name has no $file" >&2 && exit 1; }
    done
done <<<"$published"

# the newcomer: README's first example that is a program
mkdir -p "$away/newcomer/src"
version=$(awk '$1 == "ringforge" { print $2 }' <<<"$published")
printf '[package]\nname = "newcomer"\nedition = "2024"\n\n[dependencies]\nringforge = { path = "../ringforge-%s" }\n' "$version" >"$away/newcomer/Cargo.toml"
awk '/^```rust$/ { inside = 1; next } /^```$/ && inside { exit } inside' "$away/ringforge-$version/README.md" >"$away/newcomer/src/main.rs"

cd "$away"
# what is not asked for here is not in the lock
cargo update --offline --workspace --quiet
RUSTFLAGS="-D warnings" RUSTDOCFLAGS="-D warnings" cargo doc "$@" --locked --offline --no-deps --workspace --exclude newcomer
# examples of these two are of `ringforge`, which depends on them
cargo test "${quick[@]}" --locked --offline --release --doc --workspace --exclude newcomer --exclude ringforge-math --exclude ringforge-runtime
cargo run "${quick[@]}" --locked --offline --release --quiet -p newcomer
