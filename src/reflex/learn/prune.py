#!/usr/bin/env python3
"""Moves lines of the phrase files that the learned path makes needless to the trainer's files.

    cargo test -p reflex --lib which_templates -- --ignored --nocapture > lines.txt
    python3 src/reflex/learn/prune.py lines.txt && make head

A line that goes stays known to the trainer, in `learn/templates.en`. Of each intent at least one template stays.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]


def main():
    go = set()
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        if line.startswith("GO "):
            go.add(line[3:].strip())
    # Writers of phrasings may have had the same idea.
    plain = lambda text: re.sub(r"[^\w{}=|()\[\] ]", "", text.lower()).strip()
    known = {plain(line) for path in HERE.glob("*.en") for line in path.read_text().splitlines()}
    moved, before, after = {}, 0, 0
    for path in sorted(SOURCE.glob("*/*.en")):
        if path.parent == HERE.parent:
            continue
        lines, kept, heading, templates = path.read_text().splitlines(), [], "", 0
        for number, line in enumerate(lines, 1):
            if line.startswith("="):
                heading, templates = line, 0
            is_template = bool(line.strip()) and line[0] not in "#=>?"
            before += is_template
            if is_template and f"{path.name}:{number}" in go:
                text = line.removeprefix("~").strip()
                if plain(text) not in known:
                    known.add(plain(text))
                    moved.setdefault(heading, []).append(text)
                continue
            after += is_template
            kept.append(line)
        if len(kept) < len(lines):
            path.write_text("\n".join(kept) + "\n")
    target = HERE / "templates.en"
    old = target.read_text() if target.exists() else "# templates.en: templates that the learned path made needless\n"
    text = "".join(f"\n{heading}\n" + "".join(f"{line}\n" for line in lines) for heading, lines in moved.items())
    target.write_text(old + text)
    print(f"{before} templates and examples in phrase files before, {after} after")


if __name__ == "__main__":
    main()
