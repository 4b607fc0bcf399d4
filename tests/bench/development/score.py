#!/usr/bin/env python3
"""score.py DIR [--sets 1,4] [--show wrong,ask?] [--diff]: scores DIR/dN.json, as `run.py --json` writes it.

gold/dN.jsonl holds what helpers judged, one line a turn: the verdict on gold/dN.said.jsonl (what Hob did on 2026-11-24), its cause,
and the acceptable calls. A turn that comes out the same keeps its verdict; any other is compared with the acceptable calls. Of
442 turns judged right the comparison finds 435 right. It is blind in two places: `ask?` (a question, perhaps a good one) needs a
person, and an argument that is an id counts as the right one, whichever record it names.
"""

import argparse
import collections
import json
import re
from pathlib import Path

GOLD = Path(__file__).resolve().parent / "gold"
LITTLE = {"the", "a", "an", "my", "our", "some", "to", "that", "of", "for", "please", "s", "me"}
LOOKS = re.compile(r"(list|query|search|get|recall|answer|expense_summary|gpio_read|summar|calc|convert|date|random|format|help|current|next|find)")
ASKS = re.compile(r"\?( Say yes or no\.)?$|^(When|Which|What)\b|Say yes or no|Shall I", re.I)
REFUSES = re.compile(r"did not understand|I don.t know that|have not told me|Say “help”|I do not know what you mean", re.I)
AN_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


def words(text):
    plain = text.lower().replace("’", "'").replace("'s", "")
    return collections.Counter(w for w in re.findall(r"[a-z0-9£€$.:+-]+", plain) if w not in LITTLE)


def moment(text):
    """A duration as seconds; a time without its seconds."""
    length = re.fullmatch(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?", text)
    if length and text != "P":
        return sum(int(n or 0) * each for n, each in zip(length.groups(), (86400, 3600, 60, 1)))
    return text.removesuffix(":00") if re.fullmatch(r".*T\d\d:\d\d:00", text) else text


def same_text(found, wanted):
    if found.strip().lower() == wanted.strip().lower():
        return True
    if re.fullmatch(r"[\d:TPHMSDW+.-]+", wanted.strip()):
        return moment(found) == moment(wanted)
    a, b = words(found), words(wanted)
    return not a if not b else 2 * (a & b).total() / (a.total() + b.total()) >= 0.75


def same(found, wanted):
    """A list where no list is expected names alternatives."""
    if isinstance(wanted, list) and not isinstance(found, list):
        return any(same(found, one) for one in wanted)
    if isinstance(wanted, list):
        every = len(found) == len(wanted) and all(any(same(f, w) for f in found) for w in wanted)
        return every or any(same(found, one) for one in wanted if isinstance(one, list))
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key in found and same(found[key], value) for key, value in wanted.items())
    if isinstance(wanted, str):
        return same_text(found, wanted) if isinstance(found, str) else wanted == str(found)
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        try:
            return float(found) == float(wanted)
        except (TypeError, ValueError):
            return False
    return found == wanted


def is_call(call, wanted):
    if call["name"] != wanted["tool"] or call["isError"]:
        return False
    for key, value in wanted.get("args", {}).items():
        found = call["arguments"].get(key)
        an_id = key.endswith("Id") and isinstance(found, str) and AN_ID.match(found)
        if not an_id and (found is None or not same(found, value)):
            return False
    return True


def matches(calls, wanted):
    """Whether all wanted calls were made, and beside them none that changes anything."""
    left = list(calls)
    for one in wanted:
        hit = next((call for call in left if is_call(call, one)), None)
        if hit is None:
            return False
        left.remove(hit)
    return all(LOOKS.match(call["name"]) for call in left)


def compared(turn, gold):
    reply, calls, inside = turn["reply"], turn["calls"], gold["scope"] == "in"
    changes = any(not LOOKS.match(call["name"]) for call in calls)
    fact = gold.get("reply")
    told = fact is None or re.search(fact, reply, re.I)
    for wanted in gold["gold"]:
        if matches(calls, wanted) and told and (wanted or not changes):
            evades = REFUSES.search(reply) or ASKS.search(reply) and not gold["asks"] and fact is None
            if inside and not wanted and evades:
                break
            return "right"
    if inside and fact and told and not changes:
        return "right"
    if changes:
        return "wrong"
    if not inside:
        return "misasked" if "Shall I" in reply else "right" if REFUSES.search(reply) or not calls else "wrong"
    if ASKS.search(reply) and not REFUSES.search(reply):
        return "right" if gold["asks"] and "Shall I" not in reply else "ask?"
    return "refused" if REFUSES.search(reply) or not calls else "wrong"


def without_ids(turn):
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", json.dumps([turn["reply"], turn["calls"]], sort_keys=True))


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def scored(folder, sets):
    """Each turn: (row/turn, verdict before, whether it came out the same, verdict now, what happened, gold)."""
    for name in (f"d{n}" for n in sets):
        gold = {(row["id"], row["turn"]): row for row in rows(GOLD / f"{name}.jsonl")}
        before = {row["id"]: row["turns"] for row in rows(GOLD / f"{name}.said.jsonl")}
        for row in rows(Path(folder) / f"{name}.json"):
            for at, (turn, old) in enumerate(zip(row["turns"], before[row["id"]])):
                right = gold[row["id"], at]
                alike = without_ids(turn) == without_ids(old)
                yield f"{row['id']}/{at}", right["verdict"], alike, right["verdict"] if alike else compared(turn, right), turn, right


def shown(place, verdict, turn, gold):
    calls = [(call["name"], call["arguments"]) for call in turn["calls"]]
    return f"{place} {verdict}\n > {turn['say']}\n < {turn['reply'][:200]!r}\n   {calls}\n   GOLD {gold['gold']} {gold.get('reply')}"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder")
    options.add_argument("--sets", default="1,2,3,4")
    options.add_argument("--show", default="")
    options.add_argument("--diff", action="store_true")
    given = options.parse_args()
    turns = list(scored(given.folder, given.sets.split(",")))
    for scope in ("in", "out"):
        found = collections.Counter(now for _, _, _, now, _, gold in turns if gold["scope"] == scope)
        total = found.total()
        print(scope, total, {verdict: f"{count} ({100 * count / total:.1f}%)" for verdict, count in found.most_common()})
    if given.diff:
        other = [turn for turn in turns if not turn[2]]
        print("changed", len(other), collections.Counter((old, now) for _, old, _, now, _, _ in other).most_common())
        for place, old, _, now, turn, gold in other:
            if old != now:
                print(shown(place, f"{old} -> {now}", turn, gold))
    for place, _, _, now, turn, gold in turns:
        if now in given.show.split(","):
            print(shown(place, f"{now} [{gold['cause']}]", turn, gold))


if __name__ == "__main__":
    main()
