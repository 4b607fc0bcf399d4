# What builds for 64-bit ARM; to be sourced. Sets target, glibc and out, and puts CARGO and RUSTC into the environment and
# zig's linker into PATH.
# shellcheck shell=bash disable=SC2034
target=aarch64-unknown-linux-gnu
glibc=2.31
out=${CARGO_TARGET_DIR:-target}/aarch64
mkdir -p "$out"
out=$(cd "$out" && pwd)

# Whichever Rust here has a standard library for the target: rustup's, or Debian's beside it.
has() { [ -d "$("$1" --print sysroot 2>/dev/null)/lib/rustlib/$target/lib" ]; }
if has rustc; then
    CARGO=$(command -v cargo) RUSTC=$(command -v rustc)
elif has /usr/bin/rustc; then
    CARGO=/usr/bin/cargo RUSTC=/usr/bin/rustc
else
    echo "no Rust here can build for $target: .ci/setup aarch64" >&2
    exit 1
fi
export CARGO RUSTC

# zig, as a package for Python; it compiles the C of the dependencies too.
if ! cmp -s cross/requirements.txt "$out/venv/installed"; then
    echo "installing what links for $target"
    python3 -m venv "$out/venv"
    "$out/venv/bin/pip" install --quiet --disable-pip-version-check -r cross/requirements.txt
    cp cross/requirements.txt "$out/venv/installed"
fi
PATH=$out/venv/bin:$PATH
