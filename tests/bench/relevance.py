"""How well memories are found, against BM25, cosine and their fusion over the same memories, queries and vectors.

The household: 1,000 memories and 300 queries in four languages (`relevance/`), and forty questions that none of the memories answers,
written before anybody looked which of them Hob answers. LoCoMo: each turn of its ten conversations a memory, 1,536 questions with
evidence; not part of this repository: HOB_LOCOMO=…/locomo10.json names it.
"""

import json
import math
import os
import random
import re
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
LANGUAGES = ["en", "de", "es", "fr"]
TOP = 10
SIZE = 384
CHOSEN, KEPT_APART = "chose the weights", "kept apart"
# The common English stop words of search engines.
STOP = set("a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to "
           "was will with what who when where which how did does do i my we our me you".split())


def household():
    """One data set: memories, and queries with the positions of their answers and their groups: the language, and whether the weights
    were chosen on them, as on every second need."""
    memories, queries = [], []
    for language in LANGUAGES:
        answer, need = None, -1
        for line in (HERE / "relevance" / f"{language}.txt").read_text().splitlines():
            sign, text = line[:1], line[2:].strip()
            if sign in "+-" and text:
                memories.append(text)
                answer = len(memories) - 1 if sign == "+" else answer
                need += sign == "+"
            elif sign == "?":
                queries.append((text, [answer], [language, KEPT_APART if need % 2 else CHOSEN]))
    others = (HERE / "relevance" / "others.txt").read_text().splitlines()
    memories += [line[3:] for line in others]
    order = list(range(len(memories)))
    random.Random(7).shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    none = [line[3:] for line in (HERE / "relevance" / "unanswerable.txt").read_text().splitlines()]
    return {"memories": [memories[old] for old in order], "unanswerable": none,
            "queries": [(text, [place[one] for one in answers], groups) for text, answers, groups in queries]}


def locomo(path):
    """A data set for each conversation; the first five chose the weights, and the others were in view meanwhile."""
    for number, sample in enumerate(json.loads(Path(path).read_text())):
        conversation, places, memories = sample["conversation"], {}, []
        session = 1
        while f"session_{session}_date_time" in conversation:
            date = conversation[f"session_{session}_date_time"]
            for turn in conversation.get(f"session_{session}", []):
                places[turn["dia_id"]] = len(memories)
                memories.append(f"{turn['speaker']} said on {date}: {turn['text']}")
            session += 1
        queries = []
        for asked in sample["qa"]:
            named = re.findall(r"D:?(\d+):(\d+)", " ".join(asked.get("evidence", [])))
            evidence = {places[key] for a, b in named if (key := f"D{int(a)}:{int(b)}") in places}
            if asked["category"] <= 4 and evidence:
                queries.append((asked["question"], sorted(evidence), [CHOSEN if number < 5 else "the other five"]))
        yield {"memories": memories, "queries": queries}


def words(text):
    found = [word for word in re.findall(r"[^\W_]+", text.lower()) if word not in STOP]
    return [word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found]


class Bm25:
    """Okapi BM25 with k1 = 1.2 and b = 0.75."""

    def __init__(self, texts):
        self.postings, lengths = defaultdict(dict), []
        for place, text in enumerate(texts):
            counts = Counter(words(text))
            lengths.append(sum(counts.values()))
            for word, often in counts.items():
                self.postings[word][place] = often
        mean = sum(lengths) / max(len(lengths), 1) or 1
        self.damping = [1.2 * (0.25 + 0.75 * length / mean) for length in lengths]

    def scores(self, query):
        scores, count = [0.0] * len(self.damping), len(self.damping)
        for word in set(words(query)):
            found = self.postings.get(word, {})
            rarity = math.log(1 + (count - len(found) + 0.5) / (len(found) + 0.5))
            for place, often in found.items():
                scores[place] += rarity * often * 2.2 / (often + self.damping[place])
        return scores


def measures(found, wanted):
    """nDCG@10 and recall@10."""
    gain = sum(1 / math.log2(place + 2) for place, one in enumerate(found[:TOP]) if one in wanted)
    best = sum(1 / math.log2(place + 2) for place in range(min(len(wanted), TOP)))
    return gain / best, len(set(found[:TOP]) & set(wanted)) / len(wanted)


def compare(data, hob, scratch, numpy):
    """The measures of each query of a data set, by ranking, and how Hob answered what nothing answers: `hob` takes the path of a file
    and returns what it found."""
    file = scratch / "relevance.json"
    none = data.get("unanswerable", [])
    file.write_text(json.dumps({"memories": data["memories"], "queries": [text for text, *_ in data["queries"]], "unanswerable": none}))
    told = hob(file)
    found, answered = told["found"], dict(zip(none, told["answered"]))
    vectors = numpy.fromfile(file.with_suffix(".vectors"), dtype="<f4").reshape(-1, SIZE)
    memories, asked = vectors[: len(data["memories"])], vectors[len(data["memories"]):]
    bm25, rows = Bm25(data["memories"]), []
    for place, (text, wanted, in_groups) in enumerate(data["queries"]):
        cosine, by_words = memories @ asked[place], numpy.array(bm25.scores(text))
        fused = cosine + 0.5 * by_words / max(by_words.max(), 1e-9)
        best = {name: numpy.argsort(-scores, kind="stable")[:TOP].tolist()
                for name, scores in [("BM25", by_words), ("cosine", cosine), ("cosine + BM25", fused)]}
        best["BM25"] = [one for one in best["BM25"] if by_words[one] > 0]
        rows.append((in_groups, {name: measures(hits, wanted) for name, hits in {"Hob": found[place], **best}.items()}))
    return rows, answered


def summary(rows):
    """Group → ranking → mean nDCG@10 and recall@10."""
    groups = defaultdict(list)
    for in_groups, row in rows:
        for group in ["all", *in_groups]:
            groups[group].append(row)
    mean = lambda rows, name, n: sum(row[name][n] for row in rows) / len(rows)
    return {group: {name: [mean(rows, name, 0), mean(rows, name, 1)] for name in rows[0]} for group, rows in groups.items()}


def measure(hob, scratch, numpy):
    rows, answered = compare(household(), hob, scratch, numpy)
    found = {"household": summary(rows)}
    path = os.environ.get("HOB_LOCOMO")
    if path:
        found["LoCoMo"] = summary([row for data in locomo(path) for row in compare(data, hob, scratch, numpy)[0]])
    return {"rankings": found, "answered": answered}


def main():
    """`relevance.py BENCH`: prints what was measured as JSON."""
    import subprocess
    import sys
    import tempfile

    import numpy

    run = lambda file: json.loads(subprocess.run([sys.argv[1], "relevance", file], capture_output=True, text=True, check=True).stdout)
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(measure(run, Path(scratch), numpy)))


if __name__ == "__main__":
    main()
