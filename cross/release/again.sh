#!/usr/bin/env bash
# Packs the last release a second time, from the same programs, and compares every byte.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
version=$(sed -n '/^\[workspace.package\]/,/^version/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
out=$target/release-out/$version
[ -e "$out/SHA256SUMS" ] || {
    echo "there is no release to compare with: make release" >&2
    exit 1
}
before=$(cat "$out/SHA256SUMS")
cross/release/release.py arm64="$target/aarch64/hob" amd64="$target/release/hob" >/dev/null
diff <(echo "$before") "$out/SHA256SUMS" || {
    echo "the same programs gave other bytes" >&2
    exit 1
}
(cd "$out" && sha256sum --quiet -c SHA256SUMS)
echo "packed twice, $(wc -l <"$out/SHA256SUMS") files, the same bytes"
