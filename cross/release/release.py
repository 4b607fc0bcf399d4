#!/usr/bin/env python3
"""Packs a release into target/release-out/VERSION: packages, archives, image, update bundle, checksums, materials, licences.

    cross/release/release.py arm64=target/aarch64/hob amd64=target/release/hob

The same programs and the same commit give the same bytes. Environment: HOB_SIGNING_KEY is the file of the key that signs the
update bundles, HOB_EARLIER a folder with those of earlier releases; RELEASE_URL is the address where the files will be, for
Raspberry Pi Imager; SOURCE_DATE_EPOCH replaces the date of the commit.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import bundle
import deb
import image
import imager
import licences
import sbom
import sources
from archive import Entry, gz, tar
from inputs import ROOT, TARGETS, parts

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
INSTALL = """Hob {version} for {arch}: one file

    sudo install -m 755 hob /usr/local/bin/hob
    hob serve

It prints a link to open. Data go to ~/.local/share/hob; `hob --help` lists the commands. To reach it from other devices:
hob serve --listen 0.0.0.0:4620. To have it updated: hob supervise --root ~/.local/share/hob-app -- --listen 0.0.0.0:4620.
As a service under systemd, confined, use the Debian package, or hob.service and hob.sysusers in this folder as a pattern.
"""


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def version_of_hob():
    return re.search(r'^\[workspace\.package\]\nversion = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]


def date_of_commit():
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or git("log", "-1", "--format=%ct"))


def archive(out, program, version, arch, epoch, texts):
    """The program as one file to copy, with what belongs beside it."""
    own = deb.PARTS
    entries = [
        Entry("hob", program, 0o755),
        Entry("INSTALL.txt", INSTALL.format(version=version, arch=arch)),
        Entry("LICENSE", ROOT / "LICENSE"),
        Entry("LICENSE-APACHE", ROOT / "models/LICENSE"),
        Entry("THIRD-PARTY-LICENCES.txt", texts),
        Entry("hob.service", own / "hob.service"),
        Entry("hob.sysusers", own / "hob.sysusers"),
        Entry("hob.rules", own / "hob.rules"),
    ]
    name = f"hob-{version}-linux-{arch}"
    (out / f"{name}.tar.gz").write_bytes(gz(tar(entries, epoch, f"{name}/"), 6))


def programs(words):
    found = {}
    for word in words:
        arch, _, path = word.partition("=")
        if arch not in TARGETS or not Path(path).is_file():
            raise SystemExit(f"`{word}` is not ARCHITECTURE=PROGRAM with one of {', '.join(TARGETS)} and a program that exists")
        found[arch] = Path(path)
    return found


def add_image(out, found, version, epoch):
    """Copies the image and writes what belongs to it."""
    card = out / f"hob-{version}-{found.board}.img.xz"
    shutil.copyfile(found.card, card)
    entries = [imager.entry(card, version, epoch, os.environ.get("RELEASE_URL", ""), list(found.devices))]
    (out / "rpi-imager.json").write_text(imager.write(entries))
    names = "debian-sources.tsv", "fetch-debian-sources.sh"
    (out / names[0]).write_text(sources.manifest(found.packages))
    (out / names[1]).write_text(sources.script(version, names[0]))
    (out / names[1]).chmod(0o755)
    (out / "DEBIAN-SOURCES.txt").write_text(sources.offer(version, *names))


def checksums(out):
    lines = [f"{imager.stored(path)[1]}  {path.name}\n" for path in sorted(out.iterdir()) if path.name != "SHA256SUMS"]
    (out / "SHA256SUMS").write_text("".join(lines))


def pack(chosen, out, version, epoch, found):
    """Writes everything into `out`; returns the number of parts and what to tell."""
    # The packages and archives are Hob's alone: what the image adds is not in them.
    own = parts(tuple(chosen))
    own_texts, own_materials = licences.write(own, version).encode(), sbom.write(own, version, epoch).encode()
    for arch, program in chosen.items():
        deb.write(out, program, version, arch, epoch, own_texts, own_materials)
        archive(out, program, version, arch, epoch, own_texts)
    everything = own + image.parts(found)
    (out / "THIRD-PARTY-LICENCES.txt").write_text(licences.write(everything, version))
    (out / f"hob-{version}.cdx.json").write_text(sbom.write(everything, version, epoch))
    if found:
        add_image(out, found, version, epoch)
    said = bundle.write(out, chosen, found, version, epoch)
    checksums(out)
    return len(everything), said


def main(words):
    os.umask(0o022)
    version, epoch, chosen = version_of_hob(), date_of_commit(), programs(words)
    if not chosen:
        raise SystemExit(__doc__)
    out = TARGET / "release-out" / version
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    found, without = image.find(TARGET, chosen.get("arm64"))
    count, said = pack(chosen, out, version, epoch, found)
    for path in sorted(out.iterdir()):
        print(f"  {path.stat().st_size:>12,}  {path.name}")
    print(f"{out}: of {count} parts of others")
    changed = git("status", "--porcelain")
    for line in [*said, without, "made from changed files, not from a commit: do not publish it" if changed else None]:
        if line:
            print(f"  {line}")


if __name__ == "__main__":
    main(sys.argv[1:])
