"""The text of PDF files by two writers: the tool `read_pdf` of a running Hob beside pdftotext, against what was written."""

import shutil
import subprocess
import time
from collections import Counter

from daemon import Daemon
from programs import HERE, HOB, line, peers
from tables import middle, number, table


def f1(found, wanted):
    """How well two lists of words agree, whatever their order."""
    found, wanted = Counter(found), Counter(wanted)
    common = sum((found & wanted).values())
    return 2 * common / max(1, sum(found.values()) + sum(wanted.values()))


def by_hob(daemon, name):
    words, arguments = [], {"path": name}
    while True:
        piece = daemon.call("read_pdf", arguments)
        words += [word for page in piece["pages"] for word in page["text"].split()]
        if not piece["hasMore"]:
            return words
        arguments = {"path": name, **piece["next"]}


def pdf_text(scratch, rounds):
    peer, data, found = shutil.which("pdftotext"), scratch / "pdf", {}
    if peer is None:
        raise SystemExit("there is no pdftotext: .ci/setup bench")
    with Daemon(HOB, data) as daemon:
        daemon.first_answer()
        daemon.ask("PUT", "/api/v1/tool-groups/pdf", {"enabled": True})
        daemon.call("write_file", {"path": ".first", "content": ""})
        people = data / "workspace" / "people"
        folder = next(one for one in people.iterdir() if (one / ".first").exists())
        for name, wanted in line(peers(), HERE / "pdf_files.py", folder).items():
            file, ours, theirs = folder / f"{name}.pdf", [], []
            for _ in range(rounds):
                began = time.monotonic()
                words = by_hob(daemon, file.name)
                ours.append((time.monotonic() - began) * 1e3)
                began = time.monotonic()
                told = subprocess.run([peer, "-enc", "UTF-8", file, "-"], capture_output=True, text=True, check=True).stdout.split()
                theirs.append((time.monotonic() - began) * 1e3)
            found[name] = {"words": len(wanted), "f1": f1(words, wanted), "peerF1": f1(told, wanted), "f1ToPeer": f1(words, told),
                           "ms": middle(ours), "peerMs": middle(theirs), "ratio": middle(ours) / middle(theirs)}
        memory = daemon.memory()
    rows = [[name, str(row["words"]), f"{row['f1']:.3f}", f"{row['peerF1']:.3f}", f"{row['f1ToPeer']:.3f}", number(row["ms"]),
             number(row["peerMs"]), f"{row['ratio']:.1f}×"] for name, row in found.items()]
    table(f"Text of PDF files ({rounds} rounds; F1 of words)",
          ["writer", "words", "Hob", "pdftotext", "Hob to it", "Hob ms", "pdftotext ms", "Hob : pdftotext"], rows)
    print("  Hob's time holds the start of a sandbox for each piece of 48 KB, and the answer as JSON.")
    return {"files": found, "memory": memory}
