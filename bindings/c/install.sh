#!/usr/bin/env bash
# Builds the C library and installs it with its header and pkg-config file: bindings/c/install.sh [PREFIX]
set -euo pipefail
here=$(realpath "$(dirname "$0")") prefix=$(realpath -m "${1:-/usr/local}")
(cd "$here" && cargo build --locked --release)
built=${CARGO_TARGET_DIR:-$here/../../target}/release version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../../Cargo.toml" | head -1)
install -D -m 644 "$here/include/ringforge.h" -t "$prefix/include"
install -D -m 755 "$built/libringforge_capi.so" "$prefix/lib/libringforge.so.${version%.*}"
install -D -m 644 "$built/libringforge_capi.a" "$prefix/lib/libringforge.a"
ln -sf "libringforge.so.${version%.*}" "$prefix/lib/libringforge.so"
mkdir -p "$prefix/lib/pkgconfig"
sed "s|@prefix@|$prefix|; s|@version@|$version|" "$here/ringforge.pc.in" >"$prefix/lib/pkgconfig/ringforge.pc"
