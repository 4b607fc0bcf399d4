"""The update bundles of a release, made by `hob bundle build`: the program alone for each architecture, and the image's system.

A device takes no unsigned bundle, so without a key there is none.
"""

import os
import platform
import subprocess
from pathlib import Path

HOSTS = {"x86_64": "amd64", "aarch64": "arm64"}
MACHINES = {"arm64": "aarch64-linux", "amd64": "x86_64-linux"}
ENDING = "hobupdate"


def earlier(kind):
    """Bundles of earlier releases in the folder HOB_EARLIER: devices that run one of them then fetch only the differences."""
    folder = os.environ.get("HOB_EARLIER")
    return sorted(Path(folder).glob(f"hob-*-{kind}.{ENDING}")) if folder else []


def build(hob, out, version, serial, key, words):
    # The serial is the date of the commit: it rises with each release, and no device takes an older one.
    line = [hob, "bundle", "build", "--out", out, "--key", key, "--version", version, "--serial", serial, *words]
    # A key with a password takes it from HOB_BUNDLE_PASSWORD, or asks.
    done = subprocess.run([str(word) for word in line], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{out.name} was not built")


def write(out, chosen, found, version, epoch):
    """Writes the bundles into `out`; returns what to tell."""
    key = os.environ.get("HOB_SIGNING_KEY")
    if not key:
        return ["without update bundles: devices take signed ones only, and HOB_SIGNING_KEY names no key (`hob bundle keygen`)"]
    if not Path(key).is_file():
        raise SystemExit(f"HOB_SIGNING_KEY: there is no file {key}")
    hob = chosen.get(HOSTS.get(platform.machine()))
    if hob is None:
        return ["without update bundles: no program here runs on this machine, and Hob builds them itself"]
    kinds = {arch: ["--app", program, "--target", MACHINES[arch]] for arch, program in chosen.items()}
    if found:
        kinds[found.board] = ["--boot", found.boot, "--root", found.root, "--target", MACHINES["arm64"], "--board", found.board]
    for kind, words in kinds.items():
        words += [word for path in earlier(kind) for word in ("--from", path)]
        build(hob, out / f"hob-{version}-{kind}.{ENDING}", version, epoch, key, words)
    return [f"to offer it to devices: hob bundle channel --out stable.json --key {Path(key).name} --serial {epoch} *.{ENDING}"]
