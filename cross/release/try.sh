#!/usr/bin/env bash
# Installs a Debian package of Hob into a new Debian, starts that with its systemd in a container, and plays what people do:
# install, ask, upgrade, remove, purge. As root.
#     cross/release/try.sh PACKAGE.deb
# shellcheck disable=SC2015,SC2016
set -euo pipefail
package=$(realpath "${1:?usage: try.sh PACKAGE.deb}")
suite=${SUITE:-bookworm}
PATH=$PATH:/usr/sbin:/sbin
scratch=$(mktemp -d)
root=$scratch/root
container=
trap 'stop; rm -rf "$scratch"' EXIT

stop() {
    [ -z "$container" ] || { kill "$container" 2>/dev/null || true; wait "$container" 2>/dev/null || true; }
    container=
}
fail() {
    echo "the package: $*" >&2
    { inside journalctl --no-pager -o cat -u hob || cat "$scratch/console"; } 2>&1 | tail -40 >&2
    exit 1
}
# expect WHAT FOUND EXPECTED
expect() {
    [[ $2 == *"$3"* ]] || fail "$1 gave: $2"
    echo "  $1: ok"
}
inside() { nsenter -t "$leader" -m -u -i -n -p "$@"; }
# Waits for something to become true, however busy this machine is.
until_true() {
    for _ in $(seq 1800); do
        "${@:2}" >/dev/null 2>&1 && return
        sleep 0.1
    done
    fail "$1 did not happen in three minutes"
}

echo "lintian on $(basename "$package")"
lintian --allow-root --fail-on error,warning "$package"

echo "making a Debian $suite to install it into"
mmdebstrap --quiet --variant=minbase --include=systemd,systemd-sysv,dbus,udev,init-system-helpers,libgcc-s1 "$suite" "$root"
cp "$package" "$root/root/hob.deb"
# Nothing of it may depend on the network: its dependencies are there.
chroot "$root" dpkg -i /root/hob.deb >"$scratch/install"
expect "the message after installing" "$(tail -1 "$scratch/install")" "To claim this Hob"

# A network of its own, with the loopback interface alone: nobody outside can reach it.
systemd-nspawn --quiet --directory "$root" --boot --register=no --keep-unit --private-network </dev/null >"$scratch/console" 2>&1 &
container=$!
leader=
# Its first process; others come and go before it.
is_started() { leader=$(pgrep -P "$container" | head -1) && [ -n "$leader" ] && inside systemctl is-active hob; }
until_true "the start of hob.service" is_started
expect "systemd" "$(inside systemctl show hob -p SubState -p StatusErrno -p NRestarts)" "NRestarts=0"
echo "  $(inside systemd-analyze security --no-pager hob | tail -1 | sed 's/→ //')"

page() { nsenter -t "$leader" -n python3 -c 'import ssl, sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], context=ssl._create_unverified_context(), timeout=60).read().decode())' "$1"; }
hob() { inside hobctl "$@"; }
expect "the page" "$(page http://127.0.0.1:4620/healthz)" '"ok"'
expect "https" "$(page https://127.0.0.1:4621/healthz)" '"ok"'
expect "the link to claim it" "$(inside journalctl -u hob -o cat)" "#claim="
expect "a sentence" "$(hob chat "what is 15 percent of 80?")" 12
# The interpreter needs no memory that is both written and executed.
hob call create_tool '{"name": "twice", "description": "Twice as much.", "code": "return args.n * 2",
    "parameters": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}}' >/dev/null
expect "a JavaScript tool" "$(hob call twice '{"n": 21}')" 42
hob chat "remember that Marta serviced the boiler on 3 October" >/dev/null
expect "a memory by its meaning" "$(hob chat "who looked after the heating?")" Marta
expect "hob doctor" "$(hob doctor)" "all sound"

# Its confinement, from inside: what the service itself may do.
as_service() {
    inside sh -c 'exec nsenter -t "$(systemctl show hob -p MainPID --value)" -m -S "$(id -u hob)" -G "$(id -g hob)" "$@"' _ "$@"
}
for file in /usr/bin/x /etc/hob/hob.toml /var/lib/x /home/x; do
    ! as_service touch "$file" 2>/dev/null || fail "the service can write $file"
done
as_service touch /var/lib/hob/data/x || fail "the service cannot write its data"
echo "  nothing to write but its own folder: ok"
cp "$root/bin/true" "$root/var/lib/hob/data/program" && cp "$root/bin/true" "$root/var/lib/hob/app/program"
! as_service /var/lib/hob/data/program 2>/dev/null || fail "the service can run a program among its data"
as_service /var/lib/hob/app/program || fail "the service cannot run a program that an update brought"
rm "$root"/var/lib/hob/{data,app}/program
echo "  programs from the system and from updates only: ok"

inside sh -c 'kill -9 $(systemctl show hob -p MainPID --value)'
until_true "the restart after a crash" sh -c "nsenter -t $leader -n python3 -c 'import urllib.request; urllib.request.urlopen(\"http://127.0.0.1:4620/healthz\", timeout=5)'"
expect "data after a crash" "$(hob chat "who looked after the heating?")" Marta

inside dpkg -i /root/hob.deb >/dev/null
until_true "the start after an upgrade" inside systemctl is-active hob
until_true "the page after an upgrade" inside hobctl tools twice
expect "data after an upgrade" "$(hob chat "who looked after the heating?")" Marta

inside dpkg --remove hob >/dev/null
expect "the service after removal" "$(inside systemctl is-active hob || true)" inactive
[ -e "$root/var/lib/hob/data/hob.redb" ] && [ -e "$root/etc/hob/hob.toml" ] || fail "removing it took data or configuration"
inside dpkg --purge hob >/dev/null
[ ! -e "$root/var/lib/hob" ] && [ ! -e "$root/etc/hob" ] || fail "purging it left data or configuration"
echo "  remove keeps the data, purge removes them: ok"
