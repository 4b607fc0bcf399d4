# Where the emulator finds glibc for 64-bit ARM; to be sourced. ROOT_OF_ARM names a folder with another one than this
# machine has.
# shellcheck shell=bash disable=SC2034
# Debian's glibc for ARM lies either in place or in the cross compiler's folder. Where both are, only the first may be
# used: the loader of one would take the libraries of the other.
root=/usr/aarch64-linux-gnu
[ ! -e /lib/ld-linux-aarch64.so.1 ] || root=/
root=${ROOT_OF_ARM:-$root}
