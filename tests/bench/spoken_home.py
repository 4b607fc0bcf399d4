#!/usr/bin/env python3
"""Sentences that people said to a home, from SLURP (its `iot` and `audio` scenarios), in a home that has what they speak of.

    spoken_home.py rows INTENTS SLURP [SPLIT] > spoken.json     clones of home-assistant/intents and pswietojanski/slurp; devel, test
    HOME_ROWS=$PWD/spoken.json HOME_PLACED=$PWD/placed.json cargo test -p reflex --lib strangers_are_placed_at_home -- --ignored
    spoken_home.py judge spoken.json placed.json [-v]

A sentence is right if one call tells what is meant to do it: lights, the vacuum cleaner, the coffee machine, a plug, what plays;
in the room that is said, if the home has it. A question which one, or in which room, is counted as asked. Nobody has read the
sentences of `test`.
"""

import collections
import json
import subprocess
import sys

import strangers_home

VERBS = {
    "iot_hue_lightoff": ("light", ["turn_off"]), "iot_hue_lighton": ("light", ["turn_on"]),
    "iot_hue_lightup": ("light", ["set_level", "turn_on"]), "iot_hue_lightdim": ("light", ["set_level"]),
    "iot_hue_lightchange": ("light", ["set_color"]), "iot_cleaning": ("vacuum", ["turn_on"]),
    "iot_coffee": ("switch", ["turn_on"]), "iot_wemo_on": ("switch", ["turn_on"]), "iot_wemo_off": ("switch", ["turn_off"]),
    "audio_volume_up": ("media", ["set_level"]), "audio_volume_down": ("media", ["set_level"]), "audio_volume_mute": ("media", ["mute"]),
}
RISES = {"iot_hue_lightup", "audio_volume_up"}
FALLS = {"iot_hue_lightdim", "audio_volume_down"}
MORE = {
    "areas": [("Bathroom", "First Floor"), ("Hall", "First Floor")],
    "entities": [
        ("Bathroom Light", "light.bathroom", "Bathroom", "on"), ("Hall Light", "light.hall", "Hall", "on"),
        ("Desk Lamp", "light.desk", "Office", "off"), ("Bedside Lamp", "light.bedside", "Bedroom", "off"),
        ("Coffee Machine", "switch.coffee", "Kitchen", "off"), ("Wemo Plug", "switch.wemo", "Living Room", "off"),
        ("Smart Plug", "switch.smart", "Office", "on"), ("Speaker", "media_player.speaker", "Kitchen", "playing"),
        ("Roomba", "vacuum.roomba", "Hall", "docked"),
    ],
}


def rows(intents, slurp, split="devel"):
    import yaml

    fixture = yaml.safe_load(strangers_home.shown(intents, "tests/en/_fixtures.yaml"))
    fixture["entities"] = [e for e in fixture["entities"] if not e.get("id", "").startswith(("vacuum.", "sensor.", "binary_sensor."))]
    home = strangers_home.home_of(fixture)
    extra = strangers_home.home_of({"entities": [{"name": n, "id": i, "area": a, "state": s} for n, i, a, s in MORE["entities"]]})
    home["things"] += extra["things"]
    home["areas"] += [{"name": name, "parent": floor} for name, floor in MORE["areas"]]
    home["rows"], seen = [], set()
    for line in strangers_home.shown(slurp, f"dataset/slurp/{split}.jsonl").splitlines():
        row = json.loads(line)
        intent = row["intent"] if row["intent"] in VERBS else f"iot_{row['intent']}"
        if intent not in VERBS or row["sentence"] in seen:
            continue
        seen.add(row["sentence"])
        place = row["sentence_annotation"].partition("[house_place :")[2].partition("]")[0].strip()
        # Their assistant has other names.
        text = " ".join("hob" if word in ("olly", "alexa", "siri", "google") else word for word in row["sentence"].split())
        home["rows"].append({"text": text, "intent": intent, "place": place})
    json.dump([home], sys.stdout)


def outcome(home, row, placed):
    calls, said = placed["calls"], placed["say"] or ""
    kind, verbs = VERBS[row["intent"]]
    if len(calls) == 1 and calls[0][0] == "control_thing" and calls[0][1].get("action") in verbs:
        args = calls[0][1]
        found = [t for t in home["things"] if t["key"] in strangers_home.target(home, args)]
        places = {a["name"].lower() for a in home["areas"]} & {row["place"].lower().replace("bed room", "bedroom")}
        there = all(strangers_home.inside(home, t["area"], place) for t in found for place in places)
        kinds = {"switch", "media", "fan", "light"} if "wemo" in row["intent"] else {kind}
        signs = not (row["intent"] in RISES and args.get("by", 1) < 0 or row["intent"] in FALLS and args.get("by", -1) > 0)
        return "right" if found and there and signs and all(t["kind"] in kinds for t in found) else "wrong, and acted"
    if any("action" in c[1] for c in calls):
        return "wrong, and acted"
    if not calls and (said.startswith(("Which one", "Say which one")) or "which room" in said):
        return "asked"
    if not calls and ("nothing called" in said or "can't do that" in said or "I know no" in said):
        return "says it has none"
    return "not understood"


def judge(rows_file, placed_file, *flags):
    [home], placed = json.load(open(rows_file)), json.load(open(placed_file))
    counts = collections.defaultdict(collections.Counter)
    for row, one in zip(home["rows"], placed, strict=True):
        found = outcome(home, row, one)
        counts[row["intent"]][found] += 1
        if found != "right" and "-v" in flags:
            print(f"{found}: {row['intent']}: {row['text']}\n    got {one['calls']} {(one['say'] or '')[:120]}", file=sys.stderr)
    for intent, found in sorted(counts.items()):
        print(f"{intent:22} " + ", ".join(f"{name} {n}" for name, n in found.most_common()))
    every = sum(counts.values(), collections.Counter())
    total = sum(every.values())
    print("all: " + ", ".join(f"{name} {n}/{total} = {100 * n / total:.0f} %" for name, n in every.most_common()))


if __name__ == "__main__":
    {"rows": rows, "judge": judge}[sys.argv[1]](*sys.argv[2:])
