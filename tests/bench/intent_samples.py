"""Sentences drawn from the templates of home-assistant/intents (`sentences/en/*.yaml`), with the names of a home.

The grammar of a template: `[optional]`, `(one|other)`, `(a;b)` in any order, `{list}` or `{list:slot}`, `<rule>`. The templates and
what comes of them are measured on and never committed. Two kinds of them are held out, both chosen by a hash: whole templates
(nobody who works on `reflex` has read any sentence of them), and some sentences of the other templates.
"""

import hashlib
import random
import re

# Of the templates, and of the sentences of the others, in 256ths.
HELD_TEMPLATES, HELD_SENTENCES = 102, 77
EACH = 14
TRIES = 400
SWITCHED = ["light", "switch", "fan", "media_player", "climate"]


def parse(text):
    """A template as nested lists: ("all" | "one" | "any", parts), ("list", name), ("rule", name), or text."""
    at = 0

    def group(closing):
        nonlocal at
        kind, options, parts, chunk = "all", [], [], ""

        def flush():
            nonlocal chunk
            if chunk:
                parts.append(chunk)
            chunk = ""

        while at < len(text) and text[at] != closing:
            c = text[at]
            at += 1
            if c == "\\":
                chunk += text[at]
                at += 1
            elif c in "([":
                flush()
                inner = group(")" if c == "(" else "]")
                at += 1
                parts.append(inner if c == "(" else ("one", [inner, ""]))
            elif c in "{<":
                flush()
                end = text.index("}" if c == "{" else ">", at)
                parts.append(("list" if c == "{" else "rule", text[at:end]))
                at = end + 1
            elif c in "|;":
                flush()
                kind = "one" if c == "|" else "any"
                options.append(("all", parts))
                parts = []
            else:
                chunk += c
        flush()
        return ("all", parts) if kind == "all" else (kind, [*options, ("all", parts)])

    return group(None)


def as_list(value):
    return value if isinstance(value, list) else [value]


class Sampler:
    def __init__(self, common, home, seed):
        self.rules, self.lists, self.home, self.random = common["expansion_rules"], common["lists"], home, random.Random(seed)

    def pick(self, node, local, slots):
        """One way of saying a node; the slots get the values."""
        if isinstance(node, str):
            return node
        kind, inner = node
        if kind == "all":
            return "".join(self.pick(part, local, slots) for part in inner)
        if kind == "one":
            return self.pick(self.random.choice(inner), local, slots)
        if kind == "any":
            return " ".join(self.pick(part, local, slots) for part in self.random.sample(inner, len(inner)))
        if kind == "rule":
            return self.pick(parse(local[inner] if inner in local else self.rules[inner]), local, slots)
        name, _, slot = inner.partition(":")
        return self.of_list(name, slot or name, local, slots)

    def of_list(self, name, slot, local, slots):
        if name in ("name", "area", "floor"):
            slots[slot] = None
            return "\x01" + name + "\x02"
        listed = local.get("\0lists", {}).get(name) or self.lists[name]
        if listed.get("wildcard"):
            raise KeyError(name)
        if "range" in listed:
            bounds = listed["range"]
            low, high = bounds["from"], bounds["to"]
            # Rooms have 15 to 25 degrees.
            low, high = (15, 25) if name == "temperature" else (low, high)
            number = self.random.randint(low, high)
            slots[slot] = number
            return str(number)
        value = self.random.choice(listed["values"])
        said, out = (value, value) if isinstance(value, str) else (value["in"], value["out"])
        said = self.pick(parse(said), local, slots)
        slots[slot] = out if not isinstance(value, str) else said
        return said

    def entities(self, block, short):
        """What `{name}` may be in a template."""
        needs, but = block.get("requires_context") or {}, block.get("excludes_context") or {}
        domains = as_list(needs.get("domain") or block.get("name_domains") or [])
        fixed = (block.get("slots") or {}).get("domain")
        domains = domains or ([fixed] if fixed else [])
        of_file = short.split("_Hass")[0]
        if not domains and of_file not in ("homeassistant", short):
            domains = [of_file]
        found = [t for t in self.home["things"] if not domains or t["domain"] in domains]
        if not domains:
            found = [t for t in found if t["domain"] in SWITCHED]
        found = [t for t in found if t["domain"] not in as_list(but.get("domain") or [])]
        classes = as_list(needs.get("device_class") or [])
        return [t for t in found if not classes or t["class"] in classes]

    def sentence(self, template, block, short, entities):
        """One sentence, its slots, and the thing it names; `None` where the parts do not go together."""
        local = dict(block.get("expansion_rules") or {})
        if block.get("lists"):
            local["\0lists"] = block["lists"]
        slots = {}
        text = self.pick(template, local, slots)
        named = "\x01name\x02" in text
        thing = self.random.choice(entities) if named and entities else None
        if named and thing is None:
            return None
        parents = {a["name"]: a["parent"] for a in self.home["areas"]}
        rooms = sorted({t["area"] for t in self.home["things"] if t["area"]})
        room = thing["area"] if thing else self.random.choice(rooms)
        if ("\x01area\x02" in text or "\x01floor\x02" in text) and not room:
            return None
        floor = parents.get(room) or room
        values = {"name": thing and thing["name"], "area": room, "floor": floor}
        for slot, value in values.items():
            if f"\x01{slot}\x02" in text:
                slots[slot] = value
                # Typed and spoken sentences have no capitals.
                said = value.lower() if self.random.random() < 0.5 else value
                text = text.replace(f"\x01{slot}\x02", said)
        text = re.sub(r"\bfloor floor\b", "floor", " ".join(text.split()), flags=re.I)
        return text, slots, thing


def names_another(home, text, thing):
    """Whether the name of a thing stands in a sentence that does not name it: "living room lamp" for the lamps there."""
    said = f" {text.lower()} "
    return thing is None and any(f" {t['name'].lower()} " in said for t in home["things"] if t["verbs"])


def byte(*parts):
    return hashlib.sha256("\0".join(parts).encode()).digest()[0]


def part_of(short, template, text):
    if byte(short, template) < HELD_TEMPLATES:
        return "held-out templates"
    return "held-out sentences" if byte("sentence", text.lower()) < HELD_SENTENCES else "developed on"


def blocks(short, loaded):
    """Each block of templates with its intent; the newer files are one intent each."""
    if "intents" in loaded:
        for intent, data in loaded["intents"].items():
            yield from ((intent, block) for block in data["data"])
    else:
        yield from ((short.split("/")[0], block) for block in loaded["data"])


def sampled(files, common, home, seed, is_meant):
    """Rows of a home: `files` are pairs of a short name and the loaded YAML; `is_meant` says whether a row means something here."""
    sampler, rows, left_out = Sampler(common, home, seed), [], 0
    for short, loaded in files:
        for intent, block in blocks(short, loaded):
            entities = sampler.entities(block, short)
            context = dict(block.get("requires_context") or {})
            if block.get("inferred_domain"):
                context["domain"] = block["inferred_domain"]
            if not isinstance(context.get("domain"), str):
                context.pop("domain", None)
            for template in block["sentences"]:
                tree, seen = parse(template), set()
                for _ in range(TRIES):
                    if len(seen) == EACH:
                        break
                    try:
                        drawn = sampler.sentence(tree, block, short, entities)
                    except KeyError:
                        continue
                    if drawn is None or drawn[0].lower() in seen:
                        continue
                    text, slots, thing = drawn
                    if names_another(home, text, thing):
                        continue
                    row = {"file": short, "text": text, "intent": intent, "slots": {**(block.get("slots") or {}), **slots},
                           "context": context, "part": part_of(short, template, text), "thing": thing and thing["key"]}
                    if is_meant(home, row):
                        seen.add(text.lower())
                        rows.append(row)
                left_out += not seen
    return rows, left_out
