"""The licence texts of everything that is in Hob or helped to build it, in one file.

A text that several parts share is there once. A part without a text of its own gets the standard text of its licence, with
the names of its authors; one for which there is none stops the release.
"""

import html
import re
from collections import defaultdict
from html.parser import HTMLParser

from inputs import ROOT

NAMED = re.compile(r"(?i)^(licen[cs]e|copying|copyright|unlicen[cs]e|notice|patents)")
# Folders whose contents are not in a build.
ELSEWHERE = {"tests", "test", "examples", "benches", "fuzz", "docs", "node_modules", "target"}
DEPTH = 4
STANDARD = {
    "MIT": ROOT / "cross/release/texts/MIT.txt",
    "Apache-2.0": ROOT / "models/LICENSE",
    "BSD-2-Clause": ROOT / "cross/release/texts/BSD-2-Clause.txt",
    "BSD-3-Clause": ROOT / "cross/release/texts/BSD-3-Clause.txt",
}


class PlainText(HTMLParser):
    """The text of a page."""

    def __init__(self):
        super().__init__()
        self.out, self.silent = [], 0

    def handle_starttag(self, tag, attrs):
        self.silent += tag in ("style", "script")
        if tag in ("p", "li", "h1", "h2", "h3", "br", "div", "tr"):
            self.out.append("\n")

    def handle_endtag(self, tag):
        self.silent -= tag in ("style", "script")

    def handle_data(self, data):
        if not self.silent:
            self.out.append(data)


def read(path):
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix == ".html":
        page = PlainText()
        page.feed(text)
        text = html.unescape("".join(page.out))
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\f", "\n").split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def files_of(part):
    """The files with licences that a part brings: in its folder, and beside code of others inside it."""
    if part.texts:
        return list(part.texts)

    def walk(folder, depth):
        for entry in sorted(folder.iterdir()):
            if entry.is_dir() and depth < DEPTH and entry.name not in ELSEWHERE and not entry.name.startswith("."):
                # Some keep their texts in a folder `LICENSES`, under names of licences.
                if NAMED.match(entry.name):
                    yield from (path for path in sorted(entry.iterdir()) if path.is_file())
                else:
                    yield from walk(entry, depth + 1)
            elif entry.is_file() and NAMED.match(entry.name) and entry.suffix not in (".rs", ".c", ".h", ".js", ".ts", ".toml"):
                yield entry

    return list(walk(part.folder, 0)) if part.folder and part.folder.is_dir() else []


def standard(part):
    """The standard texts of a part that brings none: for one of its alternatives, every licence of it."""
    for choice in part.licence.strip("()").split(" OR "):
        names = [name.strip("() ") for name in choice.split(" AND ")]
        if all(name in STANDARD for name in names):
            notice = "Copyright (c) " + (", ".join(part.holders) or f"the authors of {part.name}")
            return [f"{notice}\n\n{read(STANDARD[name])}" for name in names]
    raise SystemExit(f"{part.kind} {part.name} {part.version} ({part.licence or 'no licence named'}) brings no licence text, "
                     "and licences.py knows no standard text for it")


def texts_of(part):
    found = [read(path) for path in files_of(part)]
    if part.texts and part.holders:
        found.insert(0, "\n".join(f"Copyright (c) {holder}" for holder in part.holders))
    return [text for text in found if text.strip()] or standard(part)


def collect(parts):
    """Each part with its texts, and each text with its parts: ({key: [number]}, [(text, [part])])."""
    numbers, texts, users = {}, [], defaultdict(list)
    of_part = {}
    for part in parts:
        mine = []
        for text in texts_of(part):
            same = " ".join(text.split())
            if same not in numbers:
                texts.append(text)
                numbers[same] = len(texts)
            mine.append(numbers[same])
            users[numbers[same]].append(part)
        of_part[part.key] = sorted(set(mine))
    return of_part, [(text, users[number]) for number, text in enumerate(texts, 1)]


def write(parts, version):
    """The whole file."""
    of_part, texts = collect(parts)
    head = [f"Licences of what is in Hob {version}, and of what helped to build it", "",
            "Hob itself is licensed under either of the Apache License, Version 2.0, and the MIT license, at your option.",
            "Below are all other parts, each with the numbers of its licence texts, which follow in the second half.", ""]
    lines = [f"{part.name} {part.version} [{part.kind}{'' if part.inside else ', built with'}]  {part.licence}  "
             f"texts: {', '.join(map(str, of_part[part.key]))}" for part in parts]
    bodies = []
    for number, (text, users) in enumerate(texts, 1):
        names = ", ".join(dict.fromkeys(f"{part.name} {part.version}" for part in users))
        bodies += ["", "=" * 100, f"Text {number}, of: {names}", "=" * 100, "", text]
    return "\n".join([*head, *lines, *bodies]) + "\n"
