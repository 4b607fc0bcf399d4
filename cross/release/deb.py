"""The Debian package, written without Debian's tools, so that every machine makes the same bytes of the same files."""

import hashlib
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path

from archive import Entry, ar, gz, tar, with_folders, xz

HERE = Path(__file__).resolve().parent
PARTS = HERE / "deb"
# Which package brings a library that the program asks for.
LIBRARIES = {
    "libc.so.6": "libc6", "libm.so.6": "libc6", "libpthread.so.0": "libc6", "libdl.so.2": "libc6", "librt.so.1": "libc6",
    "libutil.so.1": "libc6", "ld-linux-aarch64.so.1": "libc6", "ld-linux-x86-64.so.2": "libc6", "libgcc_s.so.1": "libgcc-s1",
}
MACHINES = {"arm64": "AArch64", "amd64": "Advanced Micro Devices X86-64"}
# The package of systemd whose sysusers creates the user; and what TLS trusts.
DEPENDS = ["systemd | systemd-standalone-sysusers", "init-system-helpers (>= 1.54~)"]
RECOMMENDS = ["ca-certificates", "polkitd", "tzdata"]
MAINTAINER = "The Hob founders <hob@localhost>"
SCRIPTS = ["postinst", "prerm", "postrm"]
CONFFILES = ["etc/default/hob", "etc/hob/hob.toml"]


def readelf(option, program):
    return subprocess.run(["readelf", "-W", option, program], check=True, capture_output=True, text=True).stdout


def needs(program, arch):
    """The packages that the program's libraries come from, with the version of glibc that its symbols ask for."""
    machine = re.search(r"Machine:\s+(.+)", readelf("-h", program))[1].strip()
    if machine != MACHINES[arch]:
        raise SystemExit(f"{program} is for {machine}, and the package for {arch}")
    libraries = re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", program))
    unknown = [name for name in libraries if name not in LIBRARIES]
    if unknown:
        raise SystemExit(f"{program} needs {', '.join(unknown)}, and no package is known for it: see LIBRARIES in deb.py")
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", readelf("-V", program))}
    # Packed relocations are a feature of glibc 2.36, without a number of their own.
    if "GLIBC_ABI_DT_RELR" in readelf("-V", program):
        versions.add((2, 36))
    glibc = ".".join(map(str, max(versions, default=(2, 31))))
    packages = sorted({LIBRARIES[name] for name in libraries})
    return [f"{name} (>= {glibc})" if name == "libc6" else name for name in packages]


def configuration():
    """The commented configuration, with the keys that differ for a service of the whole network and a user of its own."""
    text = (HERE.parents[1] / "src/config/hob.toml").read_text()
    for line, reason, own in [
        (
            '#listen = "127.0.0.1:4620"\n',
            "# Here: the network, because a Hob without a screen is set up from another device. Set up with a code: see README.Debian.\n",
            'listen = "0.0.0.0:4620"\n',
        ),
        (
            '#off_command = ""\n',
            "# Here: allowed by /usr/share/polkit-1/rules.d/60-hob.rules.\n",
            'off_command = "systemctl poweroff"\n',
        ),
    ]:
        if text.count(line) != 1:
            raise SystemExit("src/config/hob.toml does not have the lines that the package changes: see configuration() in deb.py")
        text = text.replace(line, reason + own)
    return "# The configuration of the service `hob`; the one below is what `hob serve` reads.\n" + text


def changelog(version, epoch):
    date = datetime.fromtimestamp(epoch, timezone.utc).strftime("%a, %d %b %Y %H:%M:%S +0000")
    return f"hob ({version}) stable; urgency=medium\n\n  * See CHANGELOG.gz.\n\n -- {MAINTAINER}  {date}\n"


def files(program, version, epoch, licences, sbom):
    """What the package installs."""
    root = HERE.parents[1]
    doc = "usr/share/doc/hob"
    return [
        Entry("usr/bin/hob", program, 0o755),
        Entry("usr/bin/hobctl", PARTS / "hobctl", 0o755),
        Entry("usr/lib/systemd/system/hob.service", PARTS / "hob.service"),
        Entry("usr/lib/sysusers.d/hob.conf", PARTS / "hob.sysusers"),
        Entry("usr/lib/udev/rules.d/60-hob.rules", PARTS / "hob.rules"),
        Entry("usr/share/polkit-1/rules.d/60-hob.rules", PARTS / "hob.polkit"),
        Entry("etc/default/hob", PARTS / "hob.default", 0o600),
        Entry("etc/hob/hob.toml", configuration()),
        Entry("usr/share/man/man1/hob.1.gz", gz((PARTS / "hob.1").read_bytes())),
        Entry("usr/share/man/man1/hobctl.1.gz", gz(b".so man1/hob.1\n")),
        Entry(f"{doc}/README.Debian", PARTS / "README.Debian"),
        Entry(f"{doc}/changelog.gz", gz(changelog(version, epoch).encode())),
        Entry(f"{doc}/CHANGELOG.gz", gz((root / "CHANGELOG.md").read_bytes())),
        Entry(f"{doc}/copyright", copyright_file(root)),
        Entry(f"{doc}/THIRD-PARTY-LICENCES.txt.gz", gz(licences)),
        Entry(f"{doc}/hob.cdx.json.gz", gz(sbom)),
        Entry("usr/share/lintian/overrides/hob", PARTS / "lintian-overrides"),
    ]


def copyright_file(root):
    mit = (root / "LICENSE").read_text().split("MIT License\n", 1)[1].strip()
    body = "\n".join(f" {line}" if line.strip() else " ." for line in mit.splitlines()[1:])
    return f"""Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: hob
Comment: The texts for everything that is inside the program are in THIRD-PARTY-LICENCES.txt.gz beside this file.

Files: *
Copyright: 2026 The Hob founders
License: MIT or Apache-2.0

License: MIT
{body.lstrip(chr(10))}

License: Apache-2.0
 See /usr/share/common-licenses/Apache-2.0.
"""


def control(version, arch, installed_kb, depends):
    return f"""Package: hob
Version: {version}
Architecture: {arch}
Maintainer: {MAINTAINER}
Installed-Size: {installed_kb}
Depends: {', '.join(depends)}
Recommends: {', '.join(RECOMMENDS)}
Section: misc
Priority: optional
Description: always-on agent for a home or workshop
 Hob remembers what you tell it, acts through tools, drives pins, and runs the
 tools you or a model write: with a cloud model, a model on your network, or
 none at all. This package runs it as a service, confined by systemd, with its
 page on port 4620 and https on port 4621.
"""


def write(out, program, version, arch, epoch, licences, sbom):
    """Writes hob_VERSION_ARCH.deb into `out` and returns its path."""
    # A pre-release is older than its release.
    version = version.replace("-", "~")
    entries = files(program, version, epoch, licences, sbom)
    contents = {entry.name: entry.read() for entry in entries}
    installed = sum(-(-len(data) // 1024) for data in contents.values()) + len(with_folders(entries)) - len(entries)
    sums = "".join(f"{hashlib.md5(data).hexdigest()}  {name}\n" for name, data in sorted(contents.items())
                   if name not in CONFFILES)
    control_files = [
        Entry("control", control(version, arch, installed, needs(program, arch) + DEPENDS)),
        Entry("conffiles", "".join(f"/{name}\n" for name in CONFFILES)),
        Entry("md5sums", sums),
        *(Entry(name, PARTS / name, 0o755) for name in SCRIPTS),
    ]
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", xz(tar(control_files, epoch, "./"))),
        ("data.tar.xz", xz(tar(entries, epoch, "./"))),
    ]
    path = Path(out) / f"hob_{version}_{arch}.deb"
    path.write_bytes(ar(members, epoch))
    return path
