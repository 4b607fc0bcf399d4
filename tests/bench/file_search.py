"""Searching 100,000 files: the tool `search_files` of a running Hob beside ripgrep over the same folder."""

import os
import resource
import shutil
import subprocess
import time
from pathlib import Path

from daemon import Daemon
from programs import HOB
from tables import middle, number, table

FILES = 100_000
QUERIES = [("a rare word", "zeppelin", False), ("a word in every file", "return", False),
           ("a pattern", r"fn \w+_77\w*\(", True), ("nothing", "no-such-words-here", False)]


def fill(folder):
    """Files as a household of programmers has them: 1,000 folders, 2 KB each, some of them ignored."""
    body = "".join(f"    let value_{n} = compute({n});\n" for n in range(60))
    for at in range(FILES):
        place = folder / f"repo{at // 10_000}" / f"part{at // 100 % 100}"
        place.mkdir(parents=True, exist_ok=True)
        rare = "// zeppelin\n" if at % 9973 == 0 else ""
        (place / f"file{at}.rs").write_text(f"fn make_{at}() {{\n{body}{rare}    return;\n}}\n")
    for repo in range(10):
        (folder / f"repo{repo}" / ".gitignore").write_text("target/\n*.log\n")


def cpu_ms(daemon):
    """CPU time of the whole process: the threads of a search end with it."""
    fields = Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def file_search(scratch, rounds):
    data = scratch / "file-search"
    found = {"files": FILES, "queries": {}}
    with Daemon(HOB, data) as daemon:
        daemon.first_answer()
        daemon.call("write_file", {"path": ".first", "content": ""})
        people = data / "workspace" / "people"
        folder = next(one for one in people.iterdir() if (one / ".first").exists())
        fill(folder)
        peer = shutil.which("rg")
        for name, query, regex in QUERIES:
            arguments = {"query": query, "regex": regex, "in": "content", "caseSensitive": True, "maxResults": 100}
            ours, theirs, cpu, peer_cpu = [], [], [], []
            daemon.call("search_files", arguments)
            for _ in range(rounds):
                before, began = cpu_ms(daemon), time.monotonic()
                daemon.call("search_files", arguments)
                ours.append((time.monotonic() - began) * 1e3)
                cpu.append(cpu_ms(daemon) - before)
                if peer:
                    words = [peer, "--no-config", "-n", "-j4", *([] if regex else ["-F"]), query, str(folder)]
                    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
                    subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
                    theirs.append((time.monotonic() - began) * 1e3)
                    after = resource.getrusage(resource.RUSAGE_CHILDREN)
                    peer_cpu.append((after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime) * 1e3)
            row = {"ms": middle(ours), "cpuMs": middle(cpu)}
            if peer:
                row |= {"peerMs": middle(theirs), "peerCpuMs": middle(peer_cpu), "ratio": middle(ours) / middle(theirs)}
            found["queries"][name] = row
        found["memory"] = daemon.memory()
    rows = [[name, number(row["ms"]), number(row["cpuMs"]), number(row.get("peerMs", 0)), number(row.get("peerCpuMs", 0)),
             f"{row['ratio']:.2f}×" if "ratio" in row else "–"] for name, row in found["queries"].items()]
    table(f"Searching {FILES:,} files ({rounds} rounds)", ["ms", "Hob", "CPU", "ripgrep", "CPU", "Hob : ripgrep"], rows)
    print("  Hob returns the first 100 lines in the order of paths and stops; ripgrep prints all, in no order.")
    return found
