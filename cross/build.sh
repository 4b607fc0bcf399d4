#!/usr/bin/env bash
# Builds Hob for 64-bit ARM: target/aarch64/hob, a release that needs Linux and glibc 2.31 or newer and nothing else.
#
# Why zig links it: the glibc of a cross compiler is that of this machine, and the program would ask for one as new.
# Static is no way out: where hosts are looked up by a module of the system (mDNS on Raspberry Pi OS), a static program
# loads the system's second glibc into itself, and dies in the first look-up if that is another version.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=cross/tools.sh
. cross/tools.sh

echo "building for $target with $("$RUSTC" --version) (the first time takes some minutes)"
cargo-zigbuild zigbuild --release --quiet --target $target.$glibc --target-dir "$out/build"
cp "$out/build/$target/release/hob" "$out/hob"

# Proof of what the head of this file says.
needs=$(readelf -V "$out/hob" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
libraries=$(readelf -d "$out/hob" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | xargs)
if [ "$(printf '%s\n' "GLIBC_$glibc" "$needs" | sort -V | tail -1)" != "GLIBC_$glibc" ]; then
    echo "it needs $needs, which is newer than $glibc" >&2
    exit 1
fi
for library in $libraries; do
    case $library in
    libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1 | libutil.so.1 | ld-linux-aarch64.so.1) ;;
    *)
        echo "it needs $library, which is no part of glibc" >&2
        exit 1
        ;;
    esac
done
echo "$out/hob: $(stat -c %s "$out/hob") bytes, needs $needs or newer ($libraries)"
