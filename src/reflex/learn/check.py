#!/usr/bin/env python3
"""Checks the phrasings of this folder without compiling: notation, tools, arguments, doubles, and how many there are."""

import json
import pathlib
import random
import re
import sys
from collections import defaultdict

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
KINDS = set(
    "text dated quoted word number int money pin when future wake date past time every duration minutes period month "
    "person phone email url list category priority expr unit zone onoff".split()
)
# Tools that other families are about to bring.
SOON = {
    "set_timer": "duration name",
    "list_timers": "",
    "cancel_timer": "timer all",
    "pause_timer": "timer",
    "resume_timer": "timer",
    "adjust_timer": "timer duration",
    "snooze_timer": "timer duration",
    "stop_timer": "timer",
    "undo": "changeId",
    "list_deleted": "kind query",
    "restore_deleted": "id",
    "list_lists": "",
    "clear_list": "list done",
    "rename_list": "list name",
    "tidy_list": "list",
    "share_list": "list shared",
    "search_everything": "query limit",
    "answer_question": "question",
}


def known_tools():
    tools = {name: set(slots.split()) for name, slots in SOON.items()}
    for path in (ROOT / "tests/golden/tools").glob("*.json"):
        tool = json.loads(path.read_text())
        tools[tool["name"]] = set(tool["parameters"].get("properties", {}))
    return tools


class Wrong(Exception):
    pass


def heading(text):
    tool, _, rest = text.partition(" ")
    if not re.fullmatch(r"/?[A-Za-z0-9_]+", tool):
        raise Wrong(f"`{tool}` is no tool name")
    fixed, rest = {}, rest.strip()
    while rest:
        key, sep, value = rest.partition("=")
        if not sep:
            raise Wrong("a fixed argument is `key=JSON`")
        try:
            fixed[key], end = json.JSONDecoder().raw_decode(value)
        except ValueError:
            raise Wrong(f"the value of `{key}` is no JSON") from None
        rest = value[end:].strip()
    return tool, fixed


def parse(text):
    """Nodes: a string, ("slot", name, kind, value) or ("any", [branches], optional)."""

    def sequence(at, close):
        nodes, branches = [], []
        while True:
            if at == len(text):
                if close:
                    raise Wrong(f"a `{close}` is missing")
                return nodes, at
            c = text[at]
            if c in "([":
                node, at = sequence(at + 1, ")" if c == "(" else "]")
                nodes.append(node)
            elif c in ")]":
                if c != close:
                    raise Wrong(f"`{c}` has no beginning")
                branches.append(nodes)
                if not all("".join(map(str, b)).strip() for b in branches):
                    raise Wrong("an alternative is empty: use `[…]` for what may be left out")
                return ("any", branches, close == "]"), at + 1
            elif c == "|":
                if not close:
                    raise Wrong("`|` stands outside of brackets")
                branches.append(nodes)
                nodes, at = [], at + 1
            elif c == "{":
                end = text.find("}", at)
                if end < 0:
                    raise Wrong("a `}` is missing")
                name, sep, value = text[at + 1 : end].partition("=")
                name, _, kind = name.partition(":")
                if not re.fullmatch(r"_|[A-Za-z][A-Za-z0-9_]*", name):
                    raise Wrong(f"`{name}` is no name for a slot")
                if kind and kind not in KINDS:
                    raise Wrong(f"`{kind}` is no kind of slot")
                if sep and not value.strip():
                    raise Wrong(f"the value of `{name}` is empty")
                nodes.append(("slot", name, kind, value.strip()))
                at = end + 1
            elif c == "}":
                raise Wrong("`}` has no beginning")
            else:
                nodes.append(c)
                at += 1

    return sequence(0, "")[0]


def slots(nodes):
    for node in nodes:
        if isinstance(node, str):
            continue
        if node[0] == "slot":
            yield node[1:]
        else:
            for branch in node[1]:
                yield from slots(branch)


def say(nodes, values, dice):
    out = ""
    for node in nodes:
        if isinstance(node, str):
            out += node
        elif node[0] == "slot":
            out += node[3] or dice.choice(values.get(node[1]) or [f"<{node[1]}>"])
        elif not node[2] or dice.random() < 0.5:
            out += say(dice.choice(node[1]), values, dice)
    return re.sub(r"\s+", " ", out).replace(" ,", ",").strip()


def intents_of_phrase_files():
    """(tool, fixed as text) → slots with kinds, and examples."""
    found = defaultdict(lambda: (defaultdict(set), []))
    for path in sorted((ROOT / "src").glob("*/*.en")) + [HERE.parent / "reflex.en"]:
        now = None
        for line in path.read_text().splitlines():
            if line.startswith("="):
                now = found[line[1:].strip()]
            elif now and line.startswith(">"):
                now[1].append(line[1:].strip())
            elif now:
                for name, kind in re.findall(r"\{(\w+)(?::(\w+))?\}", line if not line.startswith("?") else ""):
                    if name != "_":
                        now[0][name].add(kind or "text")
    return found


def show_intents(part):
    for name, (named, shown) in sorted(intents_of_phrase_files().items()):
        if name.startswith("/") or part not in name:
            continue
        args = ", ".join(f"{slot}:{'/'.join(sorted(kinds))}" for slot, kinds in sorted(named.items()))
        print(f"= {name}\n    {args or 'no arguments'}\n    e.g. {'; '.join(shown) or '-'}")
    for name, args in SOON.items():
        if part in name:
            print(f"= {name}\n    {args or 'no arguments'} (soon)")


def main():
    if sys.argv[1:2] == ["--intents"]:
        return show_intents(sys.argv[2] if len(sys.argv) > 2 else "")
    only = sys.argv[2] if sys.argv[1:2] == ["--say"] and len(sys.argv) > 2 else None
    tools, wrong, count, seen = known_tools(), [], defaultdict(int), {}
    lines, values, dice = [], defaultdict(lambda: defaultdict(list)), random.Random(1)
    for path in sorted(HERE.glob("*.en")):
        tool, name = None, ""
        for number, line in enumerate(path.read_text().splitlines(), 1):
            where, line = f"{path.name}:{number}", line.strip()
            try:
                if not line or line.startswith("#"):
                    continue
                if line.startswith("="):
                    tool, fixed = None, None
                    tool, fixed = heading(line[1:].strip())
                    name = f"{tool} {json.dumps(fixed, ensure_ascii=False)}" if fixed else tool
                    if tool.startswith("/"):
                        if tool != "/none":
                            raise Wrong("of the names with `/` only `/none` is trained")
                    elif tool not in tools:
                        raise Wrong(f"there is no tool `{tool}`")
                    elif unknown := set(fixed) - tools[tool]:
                        raise Wrong(f"`{tool}` has no argument {', '.join(sorted(unknown))}")
                    continue
                if tool is None:
                    raise Wrong("a heading `= tool` must come first")
                nodes = parse(line)
                for slot, _, value in slots(nodes):
                    if slot == "_":
                        continue
                    if tool != "/none" and slot not in tools.get(tool, {slot}):
                        raise Wrong(f"`{tool}` has no argument `{slot}`: it has {', '.join(sorted(tools[tool]))}")
                    if value:
                        values[tool][slot].append(value)
                plain = re.sub(r"[^\w{}=|()\[\] ]", "", line.lower())
                if plain in seen and seen[plain][0] != name:
                    raise Wrong(f"{seen[plain][1]} has the same for `{seen[plain][0]}`")
                if plain in seen:
                    raise Wrong(f"{seen[plain][1]} has the same")
                seen[plain] = (name, where)
                count[name] += 1
                lines.append((path.name, tool, nodes))
            except Wrong as error:
                wrong.append(f"{where}: {error}: `{line}`")
    for file, tool, nodes in lines:
        if only == file:
            print(say(nodes, values[tool], dice))
    if not only:
        for name, number in sorted(count.items()):
            print(f"{number:5} {name}")
    print(f"{sum(count.values())} phrasings, {len(wrong)} wrong", file=sys.stderr)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
