#!/usr/bin/env bash
# Runs the tests of the embedding's kernels under emulation, on a processor that sums products of bytes and on one that
# does not: no x86-64 machine can run these kernels.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=cross/tools.sh
. cross/tools.sh
# shellcheck source=cross/emulator.sh
. cross/emulator.sh

build() { cargo-zigbuild test --no-run --package embed --lib --target $target.$glibc --target-dir "$out/build" "$@"; }
echo "building the tests of the kernels for $target with $("$RUSTC" --version)"
build --quiet
tests=$(build --message-format json 2>/dev/null | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -1)
[ -x "$tests" ] || {
    echo "the build named no tests to run" >&2
    exit 1
}

# Which of the kernels a processor runs is a part of the proof.
for processor in "max:NEON dotprod, NEON" "cortex-a72:NEON"; do
    model=${processor%%:*}
    found=$(KERNELS=${processor#*:} timeout 1800 qemu-aarch64-static -cpu "$model" -L "$root" "$tests" \
        kernel:: every_processor rounding 2>&1) || {
        echo "$found" >&2
        echo "on $model the kernels for ARM fail" >&2
        exit 1
    }
    echo "  the kernels on $model (${processor#*:}): $(grep -o '[0-9]* passed' <<<"$found")"
done
