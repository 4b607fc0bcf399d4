#!/usr/bin/env bash
# Runs target/aarch64/hob once, under emulation: tools, meaning, JavaScript, daemon. ROOT_OF_ARM names a folder with
# another glibc for it than this machine has.
set -euo pipefail
cd "$(dirname "$0")/.."

hob=${CARGO_TARGET_DIR:-target}/aarch64/hob
# shellcheck source=cross/emulator.sh
. cross/emulator.sh
data=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true; rm -rf "$data"' EXIT

arm() { timeout 300 qemu-aarch64-static -L "$root" "$hob" "$@"; }
call() { arm --data "$data/arm" call "$@"; }
fail() {
    echo "under emulation, $*" >&2
    exit 1
}
# expect WHAT FOUND EXPECTED
expect() {
    [[ $2 == *"$3"* ]] || fail "$1 gave: $2"
    echo "  $1: ok"
}

echo "trying $hob under $(qemu-aarch64-static --version | head -1)"
expect "the version" "$(arm --version)" "hob "
expect "a tool" "$(call calculate '{"expression": "2^64"}')" 18,446,744,073,709,551,616
expect "a sentence" "$(arm --data "$data/arm" chat "what is 15 percent of 80?")" 12

# Meaning: found without a common word, and as near as the same program finds it on this machine.
fact='{"content": "Marta serviced the boiler on 3 October"}'
question='{"query": "who looked after the heating?"}'
near() { sed -n 's/.*"score": \([0-9.]*\).*/\1/p' | head -1; }
call remember "$fact" >/dev/null
found=$(call recall "$question")
expect "a memory by its meaning" "$found" '"why": "similar meaning"'
for native in "${CARGO_TARGET_DIR:-target}"/{release,debug}/hob; do
    [ -x "$native" ] || continue
    "$native" --data "$data/native" call remember "$fact" >/dev/null
    here=$("$native" --data "$data/native" call recall "$question" | near)
    there=$(near <<<"$found")
    awk -v a="$here" -v b="$there" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 0.005 ^ 2) }' \
        || fail "a memory is $there near, and $here on this machine"
    echo "  its nearness: ok ($there, and $here on this machine)"
    break
done

tool='{"name": "twice", "description": "Twice as much.", "code": "return args.n * 2",
       "parameters": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}}'
call create_tool "$tool" >/dev/null
expect "a JavaScript tool" "$(call twice '{"n": 21}')" 42

# The daemon, which a command then reaches through its socket.
qemu-aarch64-static -L "$root" "$hob" serve --data "$data/arm" --board sim --listen 127.0.0.1:0 \
    >"$data/out" 2>"$data/err" &
daemon=$!
for _ in $(seq 600); do
    grep -q '^hob ready' "$data/out" && break
    kill -0 "$daemon" 2>/dev/null || fail "the daemon ended: $(cat "$data/err")"
    sleep 0.1
done
url=$(awk '/^hob ready/ {print $3}' "$data/out")
expect "the daemon" "$(python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=60).read().decode())' "$url/healthz")" '"ok"'
expect "a tool through its socket" "$(call twice '{"n": 4}')" 8
kill "$daemon"
wait "$daemon" || fail "the daemon ended badly: $(cat "$data/err")"
daemon=
echo "  its end: ok"
