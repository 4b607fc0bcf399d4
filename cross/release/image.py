"""The image that `make image` made, if it did, and the Debian packages in it."""

import re
from dataclasses import dataclass
from pathlib import Path

from inputs import Part

# Boards whose image is a part of a release, and Raspberry Pi Imager's names for them.
BOARDS = {"rpi": ("pi4-64bit", "pi3-64bit")}
SUITE = "bookworm"
# Debian's own copies of the licences that its packages only name.
COMMON = Path("/usr/share/common-licenses")


@dataclass(frozen=True)
class Package:
    """A Debian package of which something is in the image."""

    name: str
    version: str
    source: str
    source_version: str
    # Sources of code that is in it from other packages: (name, version).
    built_using: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Found:
    """An image and what it was made of."""

    board: str
    card: Path
    boot: Path
    root: Path
    packages: tuple[Package, ...]
    # The licence texts of its packages.
    copyrights: dict[str, Path]
    devices: tuple[str, ...]


def read_packages(text):
    """Reads `packages.tsv`: name, version, source, its version, and perhaps what it was built using, as Debian writes it."""
    found = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        name, version, source, source_version, *rest = line.split("\t")
        using = [words.replace("(= ", "").rstrip(")").split() for words in ",".join(rest).split(",") if words.strip()]
        found.append(Package(name, version, source or name, source_version or version,
                             tuple((each[0], each[1]) for each in using)))
    return tuple(found)


def find(target, program):
    """The image of the newest build, or why there is none: (found, reason)."""
    for board, devices in BOARDS.items():
        folder = target / "image" / board
        card = folder / "hob.img.xz"
        if not card.exists():
            return None, f"without an image: make image BOARD={board} makes one"
        if program is None or card.stat().st_mtime < program.stat().st_mtime:
            return None, f"without an image: {card.name} is older than the program; make image BOARD={board} makes it anew"
        packages = read_packages((folder / "packages.tsv").read_text())
        documents = folder / "debian/usr/share/doc"
        copyrights = {package.name: documents / package.name / "copyright" for package in packages}
        missing = [name for name, path in copyrights.items() if not path.exists()]
        if missing:
            raise SystemExit(f"the licences of {', '.join(missing)} are not in {documents}")
        return Found(board, card, folder / "boot.img", folder / "root.img", packages, copyrights, devices), None
    return None, None


def texts(notice):
    """A package's notice, and the licences that it refers to."""
    names = set(re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9])", notice.read_text(errors="replace")))
    missing = sorted(name for name in names if not (COMMON / name).exists())
    if missing:
        raise SystemExit(f"{notice} refers to {', '.join(missing)}, which is not in {COMMON}: pack the image on Debian")
    return (notice, *(COMMON / name for name in sorted(names)))


def parts(found):
    """The image's packages, as parts of the release."""
    if found is None:
        return []
    return [Part("debian", package.name, package.version, "", architectures=("arm64",), texts=texts(found.copyrights[package.name]),
                 purl=f"pkg:deb/debian/{package.name}@{package.version.replace('+', '%2B')}?arch=arm64&distro={SUITE}",
                 description=f"In the image; built from {package.source} {package.source_version}.")
            for package in found.packages]
