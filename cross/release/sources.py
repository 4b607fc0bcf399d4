"""What is owed for the image's Debian packages: the list of their sources, a script that fetches these, and the offer."""

from collections import defaultdict

OFFER = """The sources of the Debian packages in this image

The image of Hob {version} contains programs from Debian that are licensed under the GNU General Public License, the GNU Lesser
General Public License and other licences that oblige whoever passes the programs on to pass on their sources as well. The
copyright file of each package is in the image's licences; the exact versions are in {manifest}.

The sources are offered in two ways:

1. Whoever passes the image on runs `{script} FOLDER` and puts the result beside it. The script fetches the exact source packages
   from the sources that apt on that machine is configured for, compares each with apt's checksums, and fails if one is missing.
2. For three years after passing the image on, whoever passed it on gives the complete corresponding source code, on a medium
   customary for software interchange and for no more than the cost of doing so, to anybody who asks for it.

Hob's own sources and those of the crates inside it need no such offer: all of them have licences that only require their texts,
which are in the file of licences beside this one.
"""

SCRIPT = r"""#!/bin/sh
# Fetches the sources of the Debian packages in the image of Hob @VERSION@ into FOLDER, with apt's configured sources.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
list=$(cd "$(dirname "$0")" && pwd)/@MANIFEST@
command -v apt-get >/dev/null || { echo "this needs apt-get, on Debian or its kin" >&2; exit 1; }
apt-get indextargets --format '$(CREATED_BY)' | grep -qx Sources || {
    echo "apt knows no sources here: add 'deb-src' to its sources (Types: deb deb-src), run apt-get update, and try again" >&2
    exit 1
}
mkdir -p "$1"
cd "$1"
missing=0
while IFS="$(printf '\t')" read -r source version _; do
    case $source in '#'* | '') continue ;; esac
    apt-get source --download-only --only-source "$source=$version" </dev/null || { echo "missing: $source $version" >&2; missing=1; }
done <"$list"
[ $missing -eq 0 ] || { echo "not all sources could be fetched: try a snapshot of Debian of the day the image was made" >&2; exit 1; }
echo "the sources of all packages are in $1"
"""


def manifest(packages):
    """One line for each source package: its name, its version, and the packages of the image that were built from it."""
    built = defaultdict(list)
    for package in packages:
        built[package.source, package.source_version].append(f"{package.name}={package.version}")
        signed = package.source.startswith("linux-signed-")
        # Debian's signed kernels come from a source that only has the signatures.
        for source, version in [*package.built_using, *([("linux", package.version)] if signed else [])]:
            built[source, version].append(f"{package.name}={package.version} (parts of it)")
    lines = ["# source\tversion\tpackages of the image that were built from it"]
    lines += [f"{source}\t{version}\t{' '.join(sorted(names))}" for (source, version), names in sorted(built.items())]
    return "\n".join(lines) + "\n"


def script(version, manifest_name):
    return SCRIPT.replace("@VERSION@", version).replace("@MANIFEST@", manifest_name)


def offer(version, manifest_name, script_name):
    return OFFER.format(version=version, manifest=manifest_name, script=script_name)
