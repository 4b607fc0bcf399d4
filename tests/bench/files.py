"""A file of 1 GB read in ranges over HTTP: constant memory, and time beside a plain read of the same file."""

import os
import time
import urllib.request

from daemon import TOKEN, Daemon
from programs import HOB
from tables import number, table

SIZE = 1 << 30
RANGE = 8 << 20
AT = "/api/v1/workspace/file?path=large.bin"


def request(daemon, method, path, body=None, headers=None):
    asked = urllib.request.Request(f"http://127.0.0.1:{daemon.port}{path}", method=method, data=body)
    asked.add_header("Authorization", f"Bearer {TOKEN}")
    for name, value in (headers or {}).items():
        asked.add_header(name, value)
    return urllib.request.urlopen(asked, timeout=600)


class Pattern:
    """A body of SIZE bytes that is made while it is sent."""

    def __init__(self):
        self.left, self.piece = SIZE, os.urandom(1 << 20)

    def read(self, most=-1):
        take = min(self.left, len(self.piece), most if most > 0 else len(self.piece))
        self.left -= take
        return self.piece[:take]


def read_ranges(daemon):
    """The whole file in ranges; returns the peak of the daemon's memory."""
    peak = 0
    for first in range(0, SIZE, RANGE):
        with request(daemon, "GET", AT, headers={"Range": f"bytes={first}-{first + RANGE - 1}"}) as answer:
            if answer.status != 206:
                raise SystemExit(f"a range was answered with {answer.status}")
            have = 0
            while piece := answer.read(1 << 20):
                have += len(piece)
        if have != RANGE:
            raise SystemExit(f"a range has {have} bytes")
        peak = max(peak, daemon.memory()["anonymous"])
    return peak


def files(scratch):
    with Daemon(HOB, scratch / "files") as daemon:
        daemon.first_answer()
        before = daemon.memory()["anonymous"]
        began, cpu = time.monotonic(), daemon.cpu_ms()
        request(daemon, "PUT", AT + "&own=true", Pattern(), {"Content-Length": str(SIZE)}).close()
        written = {"seconds": time.monotonic() - began, "cpuMs": daemon.cpu_ms() - cpu, "anonymous": daemon.memory()["anonymous"]}
        began, cpu = time.monotonic(), daemon.cpu_ms()
        peak = read_ranges(daemon)
        read = {"seconds": time.monotonic() - began, "cpuMs": daemon.cpu_ms() - cpu, "anonymous": peak}
        began = time.monotonic()
        plain = next((scratch / "files" / "workspace" / "people").glob("*/large.bin"))
        with plain.open("rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
        peer = time.monotonic() - began
    found = {"before": before, "write": written, "read": read, "plainReadSeconds": peer, "bytes": SIZE}
    rows = [["before", "", "", number(before)],
            ["written as one stream", number(written["seconds"]), number(written["cpuMs"]), number(written["anonymous"])],
            [f"read in {SIZE // RANGE} ranges", number(read["seconds"]), number(read["cpuMs"]), number(peak)],
            ["plain read of the file", number(peer), "", ""]]
    table("A file of 1 GB", ["", "seconds", "CPU ms", "anonymous MB"], rows)
    print("  The aim is constant memory: the last figure of the ranges is that of before.")
    return found
