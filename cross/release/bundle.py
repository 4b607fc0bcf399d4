"""The update bundles of a release, made by `hob bundle build`: the program alone for each architecture, and the image's system.

A device takes no unsigned bundle, so without a key there is none.
"""

import os
import platform
import subprocess
from pathlib import Path

HOSTS = {"x86_64": "amd64", "aarch64": "arm64"}
MACHINES = {"arm64": "aarch64-linux", "amd64": "x86_64-linux"}


def build(hob, out, version, serial, key, words):
    # The serial is the date of the commit: it rises with each release, and no device takes an older one.
    line = [hob, "bundle", "build", out, "--version", version, "--serial", serial, "--key", key, *words]
    if not os.environ.get("HOB_SIGNING_PASSWORD"):
        line.append("--no-password")
    done = subprocess.run([str(word) for word in line], text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{out.name} was not built: {done.stderr.strip()}")


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
    for arch, program in chosen.items():
        build(hob, out / f"hob-{version}-{arch}.hobu", version, epoch, key, ["--hob", program, "--target", MACHINES[arch]])
    if found:
        words = ["--boot", found.boot, "--root", found.root, "--target", MACHINES["arm64"], "--board", found.board]
        build(hob, out / f"hob-{version}-{found.board}.hobu", version, epoch, key, words)
    return []
