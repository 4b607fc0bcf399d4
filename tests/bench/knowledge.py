"""The benchmarks of what Hob knows: recall, its relevance, and vector collections."""

import shutil

from programs import HERE, line, parts, peers
from tables import number, table


def recall(scratch):
    """Recall beside SQLite's full-text index with sqlite-vec or usearch, over the same texts and vectors."""
    bench, python, found = parts(), peers(), {}
    for count in (1_000, 10_000, 100_000):
        folder = scratch / f"recall{count}"
        line(bench, "recall", "fill", count, 100, folder)
        built, saved, plain = (line(bench, "recall", step, count, 100, folder) for step in ("built", "saved", "peer"))
        theirs = {}
        for name in ("sqlite-vec", "usearch"):
            filled = line(python, HERE / "hybrid.py", name, 20, folder)
            theirs[name] = {"fill": filled, **line(python, HERE / "hybrid.py", name, 20, folder)}
        found[count] = {"built": built, "saved": saved, "plain": plain, **theirs}
        rows = []
        for n, one in enumerate(saved["questions"]):
            cpu = {name: each["questions"][n]["cpuMs"] for name, each in theirs.items()}
            exact = plain["questions"][n]["exactCpuMs"]
            rows.append([one["words"], number(one["cpuMs"], 2), number(built["questions"][n]["cpuMs"], 2), number(cpu["sqlite-vec"], 2),
                         number(cpu["usearch"], 2), number(exact, 2), f"{one['cpuMs'] / cpu['sqlite-vec']:.2f}× / "
                         f"{one['cpuMs'] / cpu['usearch']:.2f}×"])
        head = ["CPU ms", "Hob", "before the file", "FTS5 + sqlite-vec", "FTS5 + usearch", "every vector", "Hob : both"]
        table(f"Recall among {count:,} memories, without the embedding", head, rows)
        load = {name: each["load"]["cpuMs"] for name, each in theirs.items()}
        mb = {name: each["residentMb"] for name, each in theirs.items()}
        rows = [["first recall after a start, CPU ms", number(saved["first"]["cpuMs"]), number(built["first"]["cpuMs"]),
                 *map(number, load.values())],
                ["the same on the wall, ms", number(saved["first"]["wallMs"]), number(built["first"]["wallMs"]),
                 *(number(each["load"]["wallMs"]) for each in theirs.values())],
                ["MB in memory", number(saved["heapMb"]), number(built["heapMb"]), *map(number, mb.values())],
                ["of a recall, the second pass of the ranking (at most 3), CPU ms",
                 number(max(one["secondPassCpuMs"] for one in saved["questions"]), 2),
                 number(max(one["secondPassCpuMs"] for one in built["questions"]), 2), "", ""],
                ["memory_stats, CPU ms", number(saved["statsCpuMs"], 2), number(built["statsCpuMs"], 2), "", ""],
                ["the index file, MB", number(built["file"]["bytes"] / 1e6), "", "", ""],
                ["writing it, CPU ms", number(built["file"]["cpuMs"], 0), "", "", ""]]
        table("Its index", ["", "with the file", "before the file", *theirs], rows)
        shutil.rmtree(folder)
    print("  A few thousand memories are indexed within a moment and have no file. The first recall of Hob embeds, too. \"MB in memory\"\n"
          "  of Hob is its heap, of the peers what the first search adds to the process.")
    return found


def relevance(_):
    # In the Python with numpy, which ranks by the vectors of the same run.
    found = line(peers(), HERE / "relevance.py", parts())
    for name, groups in found["rankings"].items():
        rankings = list(groups["all"])
        rows = [[group, *(f"{number(100 * row[each][0])} / {number(100 * row[each][1])}" for each in rankings)]
                for group, row in groups.items()]
        table(f"Relevance, {name}: nDCG@10 / recall@10 (%)", ["", *rankings], rows)
        others = [each for each in rankings if each != "Hob"]
        behind = [f"{each} ({group})" for group, row in groups.items() for each in others if row[each][0] >= row["Hob"][0]]
        print("  Hob is ahead of each in each group." if not behind else f"  Hob is not ahead of {', '.join(behind)}.")
    wrong = {question: text for question, text in found["answered"].items() if text}
    print(f"  Of {len(found['answered'])} questions that nothing answers {len(wrong)} were answered:")
    for question, text in wrong.items():
        print(f"    {question} -> {text}")
    if "LoCoMo" not in found["rankings"]:
        print("  LoCoMo was skipped: HOB_LOCOMO=…/locomo10.json names the file (github.com/snap-research/locomo).")
    return found


def vectors(scratch):
    """Vector collections beside sqlite-vec and usearch, which store the same vectors of a caller."""
    python, bench, found = peers(), parts(), {}
    for count in (1_000, 10_000, 100_000):
        folder = scratch / f"vectors{count}"
        line(python, HERE / "nearest.py", "data", count, folder)
        ours = {"fill": line(bench, "collections", "fill", folder), **line(bench, "collections", "search", folder)}
        theirs = {}
        for name in ("sqlite-vec", "usearch"):
            filled = line(python, HERE / "nearest.py", name, folder)
            theirs[name] = {"fill": filled, **line(python, HERE / "nearest.py", name, folder)}
        found[count] = {"hob": ours, **theirs}
        rows = []
        for label, one in [("Hob", {**ours}), ("Hob, exact", {**ours, "search": ours["exact"]}),
                           ("Hob, filtered (3 of 100 groups)", {**ours, "search": {**ours["filtered"], "recall": None}}),
                           *theirs.items()]:
            asked, slow = one["search"], theirs["sqlite-vec"]["search"]["cpuMs"]
            rows.append([label, number(asked["cpuMs"], 2), number(asked["p50Ms"], 2), number(asked["recall"], 3),
                         number(one["residentMb"]), number(one["load"]["cpuMs"], 0), number(one["fill"]["seconds"]),
                         number(one["fill"]["diskBytes"] / 1e6), f"{asked['cpuMs'] / slow:.2f}×"])
        table(f"Vectors: the nearest 10 of {count:,}, 384 dimensions, cosine",
              ["", "CPU ms", "p50 ms", "recall@10", "MB in memory", "first search, CPU ms", "storing, s", "MB on disk",
               ": sqlite-vec"], rows)
        shutil.rmtree(folder)
    print("  Hob and sqlite-vec store a hundred vectors a commit, durably; usearch keeps its index in memory and writes a file at\n"
          "  the end. \"MB in memory\" is what the first search adds to the process.")
    return found
