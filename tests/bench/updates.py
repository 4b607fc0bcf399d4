"""Applying an update bundle of Hob's own binary: time and memory, beside `dd` with fsync of the same bytes.

HOB_OLD_BIN names an earlier binary: then the bytes that a device with it fetches are measured, too.
"""

import json
import os
import subprocess
import time

from tables import middle, number, table

ROUNDS = 3


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def copied(image, to):
    """Seconds of `dd` until the bytes are on the disk."""
    to.unlink(missing_ok=True)
    begun = time.monotonic()
    subprocess.run(["dd", f"if={image}", f"of={to}", "bs=1M", "conv=fsync", "status=none"], check=True)
    return time.monotonic() - begun


def measure(bench, hob, scratch):
    old = os.environ.get("HOB_OLD_BIN", "")
    built = run(bench, "update", "build", hob, old or "-", scratch / "update")
    size, found = built["imageBytes"], {"built": built}
    rows = []
    for name in ["whole", "delta"] if old else ["whole"]:
        runs, peers = [], []
        for round_ in range(ROUNDS):
            peers.append(copied(hob, scratch / "copied"))
            runs.append(run(bench, "update", "apply", name, old or "-", scratch / "update", scratch / f"machine-{name}-{round_}"))
        best = {key: middle([one[key] for one in runs]) for key in runs[0]}
        peer = middle(peers)
        found[name] = {**best, "ddSeconds": peer, "ratio": best["seconds"] / peer}
        rows += [[f"{name}: MB/s of the installed binary, verified and read back", number(size / 1e6 / best["seconds"], 1)],
                 [f"{name}: MB/s of `dd conv=fsync`", number(size / 1e6 / peer, 1)],
                 [f"{name}: CPU ms of it all", number(best["cpuMs"], 0)],
                 [f"{name}: peak memory over idle (MB; aim 16)", number(best["peakBytes"] / 1e6, 1)],
                 [f"{name}: bytes fetched of {built['bundleBytes']:,.0f} (%)", number(best["fetched"] * 100 / built["bundleBytes"], 1)]]
    table(f"Applying an update ({size / 1e6:.0f} MB, {ROUNDS} rounds)", ["", "measured"], rows)
    return found
