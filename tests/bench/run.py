"""The benchmarks: tables on standard output, and target/bench/NAME.json for each.

    tests/bench/run [start memory request size writes embedding javascript shells page dispatch decide home search scheduler tasks
                     recall relevance vectors turns decade reflex mqtt pins rules update files
                     file_search sandbox pdf web_page browser]

BENCH_LONG=1 also waits until model and engine are unloaded (11 minutes). Peers are measured in the same run, in turns
with Hob. CPU time, bytes and ratios count; time on the wall is told beside them and depends on what else runs here.
"""

import gzip
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import browsing
import decade as years
import file_search as searching
import pdf_text
import scripted_home
import shells as commands
import sentences as strangers
import turns as around
import updates
import web_pages
from daemon import Daemon, ModelServer, copy_of
from files import files
from knowledge import recall, relevance, vectors
from programs import HERE, HOB, OUT, ROOT, build, line, parts, peers
from tables import middle, number, table, tenth

LONG = os.environ.get("BENCH_LONG", "") not in ("", "0")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
MODEL = ROOT / "models" / "all-MiniLM-L6-v2.int8.onnx"
VOCABULARY = ROOT / "models" / "vocab.txt"
# Each is one token of the model; with the two at the ends the texts have 12 and 128.
WORDS = "the cat sat near the warm boiler in the kitchen".split()
TEXTS = [" ".join(WORDS), " ".join((WORDS * 13)[:126])]
NAMES = ["12 tokens", "128 tokens"]
SPREAD = ["p50", "p99", "max"]


def populate(daemon):
    """What a household has after a while: memories, a conversation, a tool."""
    boxes = [{"content": f"Box {place} in the attic holds things of the year {1920 + place}"} for place in range(100)]
    # In two calls: sixty a minute are let through.
    for half in (boxes[:50], boxes[50:]):
        daemon.call("batch_remember", {"memories": half})
    daemon.post("/api/v1/chat", {"message": "what is 15 percent of 80?"})
    draft = {"name": "twice", "description": "Twice as much.", "code": "return args.n * 2", "parameters": {
        "type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}}
    daemon.post("/api/v1/custom-tools", draft)


def kept_data(folder):
    """Data that was used before: the meanings of reflex's phrases, which a first start computes, are in it."""
    with Daemon(HOB, folder) as daemon:
        daemon.first_answer()
        populate(daemon)
        # They are computed 5 s after the start and kept; the model then works no more.
        calm = 0
        before = daemon.cpu_ms()
        while calm < 8 and time.monotonic() - daemon.begun < 180:
            time.sleep(1)
            now = daemon.cpu_ms()
            calm = calm + 1 if now - before < 50 and time.monotonic() - daemon.begun > 8 else 0
            before = now
    return folder


def start(scratch):
    kept = kept_data(scratch / "start-kept")
    rows, found = [], {}
    samples = {"fresh data": [], "data of a household": []}
    for round_ in range(20):
        for name, folder in [("fresh data", scratch / f"start-{round_}"), ("data of a household", kept)]:
            with Daemon(HOB, folder) as daemon:
                answered = daemon.first_answer() * 1e3
                samples[name].append((answered, daemon.ready() * 1e3, daemon.cpu_ms()))
    for name, all_ in samples.items():
        answered, ready, cpu = zip(*all_)
        rows.append([name, number(middle(cpu)), *(number(f(v)) for v in (answered, ready) for f in (middle, tenth))])
        found[name] = {"cpuMs": middle(cpu), "answeredMs": [middle(answered), tenth(answered)],
                       "readyMs": [middle(ready), tenth(ready)], "starts": len(all_)}
    head = ["ms from spawn", "CPU", "first 200", "p90", "ready line", "p90"]
    table("Start (20 each, in turns)", head, rows)
    return found


def memory(scratch):
    """Three daemons side by side, each with a copy of the program, so that none shares the others' pages."""
    kept = kept_data(scratch / "memory-kept")
    shutil.copytree(kept, scratch / "memory-used", ignore=shutil.ignore_patterns("*.sock"))
    rows, found = [], {}

    def note(name, daemon):
        found[name] = daemon.memory()
        rows.append([name, *(number(found[name][part]) for part in ("rss", "pss", "anonymous"))])

    def at(daemon, seconds):
        time.sleep(max(0, daemon.begun + seconds - time.monotonic()))

    copies = [copy_of(HOB, scratch / f"copy-{place}") for place in range(3)]
    with Daemon(copies[0], kept) as idle:
        at(idle, 10)
        note("idle at 10 s, nothing loaded", idle)
        with Daemon(copies[1], scratch / "memory-used") as used:
            used.first_answer()
            used.call("calculate", {"expression": "2^64"})
            note("after one tool call", used)
            used.post("/api/v1/chat", {"message": "what is 15 percent of 80?"})
            note("after a chat", used)
            if used.call("twice", {"n": 21}) != 42:
                raise SystemExit("the JavaScript tool answers wrong")
            note("after a JavaScript tool", used)
            used.call("recall", {"query": "where are the old photographs?"})
            note("after a recall: model loaded", used)
            last = time.monotonic()
            with Daemon(copies[2], scratch / "memory-fresh") as fresh:
                at(fresh, 10)
                note("first start, at 10 s: computing phrases", fresh)
                if LONG:
                    print("waiting until model and engine are unloaded", file=sys.stderr)
                    at(idle, 600)
                    note("idle at 10 min", idle)
                    time.sleep(max(0, last + 660 - time.monotonic()))
                    note("used, then idle for 11 min: unloaded", used)
                    at(fresh, 720)
                    note("first start, at 12 min: unloaded", fresh)
    table("Memory, everything on (MB)", ["", "RSS", "PSS", "anonymous"], rows)
    print("  RSS counts pages of the program file, which the system may drop; anonymous is what it must keep.")
    return found


def request(scratch):
    server = ModelServer()
    model = {"HOB_MODEL": "custom/test-model", "HOB_LLM_URL": server.url, "HOB_LLM_KEY": "sk-test"}
    with Daemon(HOB, scratch / "request", model) as daemon:
        daemon.first_answer()
        answer = daemon.post("/api/v1/chat", {"message": "ping"})
    if answer["response"] != "pong":
        raise SystemExit(f"the model's answer did not come through: {answer}")
    asked = json.loads(server.body)
    tools = sum(len(json.dumps(tool, separators=(",", ":"), ensure_ascii=False).encode()) for tool in asked["tools"])
    found = {"bytes": len(server.head) + len(server.body), "body": len(server.body), "tools": len(asked["tools"]),
             "toolBytes": tools}
    row = [number(found["bytes"], 0), number(found["body"], 0), number(tools, 0), found["tools"]]
    table("First request to a model for \"ping\" (bytes)", ["", "all", "body", "of it tools", "tools"], [["ping", *row]])
    return found


def size(_):
    whole, model = HOB.stat().st_size, MODEL.stat().st_size
    found = {"bytes": whole, "model": model, "without": whole - model}
    row = [number(part / 1e6) for part in (whole, model, whole - model)]
    table("Size of the binary (MB)", ["", "whole", "the model in it", "without it"], [[HOB.name, *row]])
    return found


def writes(scratch):
    bench, rows, found = parts(), [], {}
    for writers in (32, 1):
        each = {"hob": [], "sqlite": []}
        for round_ in range(ROUNDS):
            for engine in each:
                folder = scratch / f"writes-{engine}-{writers}-{round_}"
                each[engine].append(line(bench, "writes", engine, writers, 2, folder))
                shutil.rmtree(folder)
        of = {engine: {key: middle([s[key] for s in all_]) for key in all_[0] if key != "sqlite"}
              for engine, all_ in each.items()}
        ratio = middle([h["perSecond"] / s["perSecond"] for h, s in zip(each["hob"], each["sqlite"])])
        label = f"{writers} writers" if writers > 1 else "1 writer"
        for engine, name in [("hob", "Hob"), ("sqlite", "SQLite " + each["sqlite"][0]["sqlite"])]:
            one = of[engine]
            rows.append([f"{label}, {name}", number(one["perSecond"], 0), number(one["waitMsMedian"], 2),
                         number(one["cpuMsPerRecord"], 3), number(one["kilobytesPerRecord"]),
                         f"{ratio:.2f}×" if engine == "hob" else ""])
        found[label] = {**of, "ratio": ratio}
    head = ["durable 1 KB records", "a second", "wait ms", "CPU ms each", "kB each", "Hob : SQLite"]
    table(f"Writes, on disk when answered (WAL, synchronous=FULL; {ROUNDS} rounds in turns)", head, rows)
    print("  Both collect what waits into one commit; the rate follows the disk, the ratio and kB less so.")
    return found


def embedding(_):
    bench, python = parts(), peers()
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(line(bench, "embed", 40, *TEXTS))
        theirs.append(line(python, HERE / "ort.py", MODEL, VOCABULARY, 40, *TEXTS))
    rows, found = [], {}
    for place, name in enumerate(NAMES):
        a, b = ([run["texts"][place]["cpuMs"] for run in runs] for runs in (ours, theirs))
        ratio = middle([x / y for x, y in zip(a, b)])
        same = sum(x * y for x, y in zip(ours[0]["texts"][place]["vector"], theirs[0]["texts"][place]["vector"]))
        if same < 0.999:
            raise SystemExit(f"the vectors of {name} differ (cosine {same:.4f}): the comparison is not fair")
        found[name] = {"hobCpuMs": middle(a), "onnxruntimeCpuMs": middle(b), "ratio": ratio, "cosine": same}
        rows.append([name, number(middle(a), 2), number(middle(b), 2), f"{ratio:.2f}×"])
    load = [middle([run["loadCpuMs"] for run in runs]) for runs in (ours, theirs)]
    found["load"] = {"hobCpuMs": load[0], "onnxruntimeCpuMs": load[1], "ratio": load[0] / load[1]}
    rows.append(["loading the model", *(number(ms, 0) for ms in load), f"{load[0] / load[1]:.2f}×"])
    found["onnxruntime"] = theirs[0]["version"]
    head = ["CPU ms", "Hob", f"onnxruntime {found['onnxruntime']}", "Hob : peer"]
    table(f"Embedding, one thread, same file and texts ({ROUNDS} rounds in turns)", head, rows)
    return found


def javascript(_):
    bench = parts()
    runs = [line(bench, "script", 300) for _ in range(ROUNDS)]
    found = {key: middle([run[key] for run in runs]) for key in runs[0]}
    rows = [["a trivial call, its instance included", number(found["callCpuMs"], 3), "0.5"],
            ["fib(22), 28,657 calls of a function", number(found["fib22CpuMs"], 1), ""],
            ["making the engine, once", number(found["startCpuMs"], 1), ""]]
    table("JavaScript in the sandbox (CPU ms)", ["", "measured", "aim"], rows)
    return found


def shells(scratch):
    folder = scratch / "shells"
    folder.mkdir()
    (folder / "hob.toml").write_text("[limits]\ncalls = 0\n")
    with Daemon(HOB, folder) as daemon:
        daemon.ready()
        return commands.measure(daemon)


def sandbox(scratch):
    bench, runs = parts(), []
    for round_ in range(ROUNDS):
        runs.append(line(bench, "sandbox", 60, scratch / f"sandbox-{round_}"))
    found = {key: middle([run[key] for run in runs]) for key in runs[0]}
    rows = [["Hob", number(found["hobMs"], 1), "10", ""]]
    for peer, name in [("bwrapMs", "bubblewrap"), ("runcMs", "runc")]:
        if peer in found:
            ratio = found[f"{peer}Ratio"] = middle([run["hobMs"] / run[peer] for run in runs])
            rows.append([name, number(found[peer], 1), "", f"{ratio:.2f}×"])
    table(f"Start of `true` in a sandbox to its end (ms on the wall, p50 of 60, {ROUNDS} rounds in turns)",
          ["", "measured", "aim", "Hob : peer"], rows)
    return found


def rules(scratch):
    bench = parts()
    runs = [line(bench, "rules", 500, scratch / f"rules-{round_}") for round_ in range(ROUNDS)]
    found = {key: middle([run[key] for run in runs]) for key in runs[0]}
    rows = [["edge of a pin to the action of a rule, p50 (ms)", number(found["p50Ms"], 2), "20"],
            ["the same, p99 (ms)", number(found["p99Ms"], 2), "20"],
            ["rules evaluated in a second, 200 on each event", number(found["evaluationsPerSecond"], 0), ""],
            ["CPU of one evaluation (µs)", number(found["cpuUsPerEvaluation"], 2), ""]]
    table("Rules on the simulated board, with the store on disk", ["", "measured", "aim"], rows)
    return found


def dispatch(scratch):
    bench, runs = parts(), []
    for round_ in range(ROUNDS):
        one = line(bench, "dispatch", 10000, scratch / f"dispatch-{round_}")
        one["logged"] = line(bench, "dispatch", 10000, scratch / f"dispatch-log-{round_}", "log")["whole"]
        runs.append(one)
    found = {key: middle([run[key] for run in runs]) for key in runs[0]}
    found["overhead"] = found["whole"] - found["alone"]
    found["ratio"] = middle([run["whole"] / run["alone"] for run in runs])
    rows = [["overhead of the pipeline: through it, less the function alone", number(found["overhead"]), "20"],
            ["through the whole pipeline", number(found["whole"]), ""],
            ["the function alone (the peer)", number(found["alone"], 2), ""],
            ["the same with nothing kept: no audit log, the default policy", number(found["unkept"]), ""],
            ["of the whole: two events", number(found["events"]), ""],
            ["the whole, and the daemon's line of log", number(found["logged"]), ""],
            [f"the whole, a commit after {found['piece']} calls, with an audit log that is full", number(found["full"]), ""],
            ["a change of the catalogue: the rules made anew", number(found["changeMs"] * 1e3, 0), ""]]
    table(f"A call of a tool that does nothing, {found['tools']} tools, {found['policyEntries']} entries of policy, all "
          f"threads ({ROUNDS} rounds of {found['calls']:,.0f})", ["CPU µs", "measured", "aim"], rows)
    print(f"  Through the pipeline a call costs {found['ratio']:.0f}× what the function costs alone.")
    return found


def decide(_):
    bench = parts()
    runs = [line(bench, "decide", 100000) for _ in range(ROUNDS)]
    found = {kind: middle([run["microseconds"][kind] for run in runs]) for kind in runs[0]["microseconds"]}
    rows = [[kind, number(us, 2), "5"] for kind, us in found.items()]
    title = f"decide, {runs[0]['rules']} rules ({runs[0]['grants']} of them grants)"
    table(f"{title}, median of {ROUNDS} rounds", ["CPU µs", "measured", "aim"], rows)
    return {"us": found, "rules": runs[0]["rules"]}


def pins(_):
    found = line(parts(), "pins", 400)
    heard, acted, busy, flapping = (found[key] for key in ("heard", "acted", "actedWhileFlapping", "flapping"))
    rows = [["until a task hears of the edge", number(heard["p50"], 0), number(heard["p99"], 0), ""],
            ["until it has switched another pin", number(acted["p50"], 0), number(acted["p99"], 0), "20,000"],
            ["the same while a third pin flaps at 10 kHz", number(busy["p50"], 0), number(busy["p99"], 0), "20,000"]]
    table(f"From an edge of the simulated board ({acted['count']} edges)", ["µs on the wall", "p50", "p99", "aim"], rows)
    print(f"  The flapping pin: {flapping['edges']:,} edges, {flapping['reported']:,} reported and {flapping['coalesced']:,} coalesced; "
          f"{flapping['cpuPercent']:.0f}% of a core with the simulation of it, {flapping['grownKB']} KB more memory.")
    return found


def update(scratch):
    return updates.measure(parts(), HOB, scratch)


def home(scratch):
    found = scripted_home.measure(HOB, scratch)
    table(f"Home Assistant: {found['entities']:,} entities, {found['rate']:.0f} changes a second", ["", ""],
          [["% of a core", number(found["cpuPercent"])], ["CPU µs a change", number(found["usPerEvent"], 0)],
           ["MB resident before it is set up", number(found["before"]["rss"])],
           ["  once its entities are known", number(found["connected"]["rss"])],
           ["  after 20 s of changes", number(found["flowing"]["rss"])],
           *[[f"CPU ms: find \"{query}\"", number(ms, 2)] for query, ms in found["searchMs"].items()]])
    return found


def search(_):
    bench = parts()
    runs = [line(bench, "search", 200) for _ in range(ROUNDS)]
    found = {key: middle([run[key] for run in runs]) for key in ("tools", "mean", "worst", "peerMean", "peerWorst")}
    found["ratio"] = middle([run["mean"] / run["peerMean"] for run in runs])
    found["queries"] = runs[0]["queries"]
    rows = [[f"mean of {len(found['queries'])} queries", number(found["mean"]), number(found["peerMean"]), "200",
             f"{found['ratio']:.2f}×"],
            [f"the worst: \"{runs[0]['worstQuery'][:40]}\"", number(found["worst"]), number(found["peerWorst"]), "200", ""]]
    head = ["CPU µs", "Hob", "plain scan", "aim", "Hob : peer"]
    table(f"Finding tools by words among {found['tools']} ({ROUNDS} rounds)", head, rows)
    print("  The peer makes every text lower case and looks for each word in it; it does not rank.")
    return found


def judged(bench, folder, program, schedules, seconds, kills=0):
    """What became of what was due: kept by a scheduler, made while it is ended `kills` times. See due.rs."""
    lead = 4
    durable = ["durable"] if kills else []
    while True:
        line(bench, "scheduler", "plan", folder, schedules, seconds, lead, *durable)
        kept = line(*program, "fill", folder)
        if kept["leftMs"] > 0:
            return {**line(bench, "scheduler", "judge", folder, kills, *program), "kept": kept}
        shutil.rmtree(folder)
        lead *= 2
        print(f"keeping {schedules} schedules took longer than {lead // 2} s: once more", file=sys.stderr)


def scheduler(scratch):
    bench = parts()
    try:
        peer = [peers(), HERE / "schedules.py"]
    except (OSError, subprocess.CalledProcessError) as problem:
        peer, absent = None, str(problem)
    hob = [bench, "scheduler"]
    found = {"onTime": [judged(bench, scratch / "hob-on-time", hob, 10_000, 21)],
             "restarts": [judged(bench, scratch / "hob-restarts", hob, 10_000, 75, 100)]}
    if peer:
        found["onTime"].append(judged(bench, scratch / "peer-on-time", [*peer, "default"], 1000, 15))
        found["restarts"].append(judged(bench, scratch / "peer-restarts", [*peer, "default"], 1000, 24, 20))
        # As it comes, what is a second late is left out; it can be told not to.
        told = judged(bench, scratch / "peer-told", [*peer, "always"], 1000, 24, 20)
        told["program"]["name"] += ", misfire_grace_time=None"
        found["restarts"].append(told)
    rows = []
    for one in found["onTime"]:
        program, late, at_once = one["program"], one["lateMs"], one["atOnceMs"]
        rows.append([program["name"], number(one["schedules"], 0), number(one["due"], 0),
                     *(number(late[key]) for key in SPREAD), number(one["atOnce"], 0),
                     *(number(at_once[key]) for key in SPREAD),
                     number(program["cpuMs"] / max(1, program["calls"]), 3), one["lost"], one["doubled"]])
    head = ["ms from due to begun", "schedules", "due", "p50", "p99", "max", "at once", "p50", "p99", "max", "CPU ms each",
            "lost", "twice"]
    table("Schedules on time, on disk, over 21 s (the peer: a tenth of them, over 15 s)", head,
          rows if peer else [*rows, ["APScheduler: could not be installed", *[""] * 12]])
    rows = []
    for one in found["restarts"]:
        kept, ready = one["recorded"], one["readyMs"]
        rows.append([one["program"]["name"], one["kills"], number(one["schedules"], 0), number(one["due"], 0), one["lost"],
                     f"{100 * one['lost'] / one['due']:.2f} %", one["doubled"],
                     "–" if kept is None else kept["repeats"], "–" if kept is None else kept["notOnceOk"],
                     number(ready["p50"], 0), number(ready["max"], 0)])
    head = ["SIGKILL after 50–1500 ms", "kills", "schedules", "due", "lost", "", "made twice", "known", "unrecorded", "ready ms",
            "max"]
    table("Schedules through restarts, each call fsynced", head,
          rows if peer else [*rows, ["APScheduler: could not be installed", *[""] * 10]])
    print("  Made twice: a kill came between the call and the word that it had ended. Known: begun anew, says the record of the\n"
          "  run. Unrecorded: times without exactly one run that ended well.")
    if not peer:
        print(f"  No peer: {absent}")
    if found["onTime"][0]["lost"] or found["restarts"][0]["lost"]:
        raise SystemExit("Hob lost due times")
    return found


def tasks(scratch):
    found = line(parts(), "tasks", 200, scratch / "tasks")
    rows = []
    for one in found["questions"]:
        hob, sqlite, words, whole = one["hob"], one["sqlite"], one.get("words"), one.get("wholeWords")
        peer = words or sqlite
        rows.append([one["name"], one["found"], number(hob["cpuMs"], 2), number(hob["wallMs"]["p50"], 2),
                     number(hob["wallMs"]["p99"], 2), number(sqlite["cpuMs"], 2), number(words and words["cpuMs"], 2),
                     number(whole and whole["cpuMs"], 2), f"{hob['cpuMs'] / peer['cpuMs']:.2f}×", "2×" if words else ""])
    head = ["CPU ms", "found", "Hob", "wall p50", "p99", f"SQLite {found['sqlite']}", "FTS5, trigrams", "FTS5, whole words",
            "Hob : SQLite or trigrams", "aim"]
    table(f"list_tasks, 20 of {found['tasks']:,} tasks and {found['shared']:,} shared ones, on disk", head, rows)
    print(f"  The peer has an index for each question; its answers are the same. On disk: Hob "
          f"{found['bytes']['hob'] / 1e6:.0f} MB, SQLite {found['bytes']['sqlite'] / 1e6:.0f} MB with its index of words.")
    return found


def turns(scratch):
    try:
        python, absent = peers(), None
    except (OSError, subprocess.CalledProcessError) as problem:
        python, absent = None, str(problem)
    found = around.measure(HOB, scratch, python)
    hob, peer = found["hob"], found.get("nanobot")
    name = f"nanobot {peer['version']}" if peer else "nanobot: could not be installed"

    def row(label, ours, theirs, digits=0):
        ratio = "" if theirs is None else f"{ours / theirs:.2f}×"
        return [label, number(ours, digits), number(theirs, digits), ratio]

    rows = []
    for key, label in [("ping", "\"ping\""), ("task", "a task of 3 calls"), ("searched", "the same, tools searched for first"),
                       ("at30", "the request of turn 30")]:
        ours, theirs = hob[key], peer and peer["task" if key == "searched" else key]
        rows += [row(f"{label}, {ours['requests']} requests" if ours["requests"] > 1 else label, ours["bytes"], theirs and theirs["bytes"]),
                 row("  tokens (characters ÷ 4)", ours["tokens"], theirs and theirs["tokens"])]
    table("What is sent to the model (bytes, heads included)", ["", "Hob", name, "Hob : peer"], rows)

    rows = [[*row("CPU ms a turn, beside the model", hob["cpuMs"], peer and peer["cpuMs"], 2), "3"]]
    for key in ("p50", "p99"):
        theirs = peer and peer["delayMs"] and peer["delayMs"][key]
        rows.append([*row(f"ms from the model's first word to the client's, {key}", hob["delayMs"][key], theirs, 2), ""])
    table(f"A turn in a conversation of 100 messages and more ({hob['turns']} turns" + (f"; the peer {peer['turns']})" if peer else ")"),
          ["", "Hob", name, "Hob : peer", "aim"], rows)
    summaries = hob["requests"] - hob["turns"] - 50
    print(f"  At most {hob['messages']} messages are sent" + (f" (the peer: {peer['messages']})" if peer else "") + "; "
          f"{summaries} summaries of older ones were asked for, and what they cost is in it.")

    kept, one = hob["memory"], peer and peer["memory"]
    rows = [[f"Hob, {label}", number(kept[key]["rss"]), number(kept[key].get("pss")), number(kept[key]["anonymous"])]
            for key, label in [("before", "no conversation open"), ("during", f"{kept['conversations']} conversations that wait")]]
    rows.append(["  each of them (KB)", *(number(kept["eachKb"].get(part), 0) for part in ("rss", "pss", "anonymous"))])
    if one:
        rows.append([f"{name}, 1 conversation that waits", number(one["rss"]), number(one.get("pss")), number(one["anonymous"])])
        part = "pss" if "pss" in one and "pss" in kept["during"] else "rss"
        found["memoryRatio"] = kept["during"][part] / one[part]
    table("Memory with open conversations (MB)", ["", "RSS", "PSS", "anonymous"], rows)
    if one:
        print(f"  Hob with {kept['conversations']} conversations takes {found['memoryRatio']:.2f}× what nanobot takes with one.")
    if absent:
        print(f"  No peer: {absent}")
    return found


def decade(scratch):
    bench = parts()
    found = years.measure(HOB, lambda name, folder: line(bench, "decade", name, folder), scratch, LONG)
    lines, over = [], []
    for label, new, old, digits in years.rows(found):
        ratio = old / new if new > 0.05 else None
        aim = f"{years.AIM}×" if years.is_bounded(label) else ""
        if aim and ratio and ratio > years.AIM:
            over.append(label)
        lines.append([label, number(new, digits), number(old, digits), "–" if ratio is None else f"{ratio:.2f}×", aim])
    kept = found["records"]
    table(f"Ten years: {kept['messages']:,} messages in {kept['conversations']:,} conversations, {kept['tasks']:,} tasks, "
          f"{kept['memories']:,} memories, 100,000 audit lines", ["", "a day", "ten years", "ratio", "aim"], lines)
    print("  The vectors of the memories are random unit vectors: embedding 100,000 texts would take minutes. Before anything is\n"
          f"  measured, a first start of {found['decade']['settleSeconds']:.0f} s computes what an older folder lacks: the indexes, too. "
          f"Filled in {found['decade']['seedSeconds']:.1f} s.")
    if over:
        print(f"  Above {years.AIM}×: {'; '.join(over)}.")
    return {**found, "over": over}


def reflex(scratch):
    """Strangers' sentences at the real daemon, and the older measure: sentences closer to the templates."""
    try:
        peers()
    except (OSError, subprocess.CalledProcessError):
        print("the peers could not be installed: the system's libfaketime is used", file=sys.stderr)
    folder = HERE / "sentences"
    before = json.loads((folder / "before.json").read_text())
    found, rows = {"before": before}, []
    for name in sorted(file.stem for file in folder.glob("*.jsonl")):
        results = strangers.measure(HOB, strangers.read_rows(folder / f"{name}.jsonl"), scratch / name)
        found[name] = {"shares": strangers.shares(results), "counts": strangers.counts(results), "outcomes": {
            one["id"]: one["outcome"] for one in results}}
        for kind, now in found[name]["shares"].items():
            for label, one in [(f"{name}, {kind}", now), (f"  {before['at']}", before[name][kind])]:
                rows.append([label, one["rows"], *(number(one[key]) for key in strangers.OUTCOMES[:-1]), one["harmful"],
                             number(one["unrelated"])])
    head = ["% of sentences", "said", "right", "asked", "refused", "misasked", "wrong", "harmful (n)", "unrelated"]
    table("Strangers' sentences, without a model", head, rows)
    print("  Asked: “Shall I …?” with exactly the right call; misasked: with another. Unrelated: the reply reports a memory that was\n"
          "  not asked for. Before issue 16, with 284 other sentences: 39 % right, 22 % wrong, 7 harmful; with 314 out-of-scope requests\n"
          "  of CLINC150: 9 % unrelated.")
    older = line(parts(), "reflex", ROOT / "tests" / "golden" / "heldout.tsv")
    found["older"], one = older, older["all"]
    print(f"  Of {one['rows']} sentences closer to the templates: tool {100 * one['tool']:.0f} % right, arguments "
          f"{100 * one['arguments']:.0f} %, without a question {100 * one['sure']:.0f} %; {one['actedWrongly']} acted wrongly.")
    return found


def file_search(scratch):
    return searching.file_search(scratch, ROUNDS)


def pdf(scratch):
    return pdf_text.pdf_text(scratch, ROUNDS)


def web_page(scratch):
    return web_pages.web_page(scratch, ROUNDS)


def browser(scratch):
    return browsing.browser(scratch, ROUNDS)


def page(_):
    files = sorted(file for file in (ROOT / "web" / "dist").rglob("*") if file.is_file())
    if not files:
        raise SystemExit("there is no web/dist: make web")
    found = {str(f.relative_to(ROOT / "web" / "dist")): [f.stat().st_size, len(gzip.compress(f.read_bytes(), 9))]
             for f in files}
    rows = [[name, number(plain, 0), number(small, 0)] for name, (plain, small) in found.items()]
    whole = [sum(sizes) for sizes in zip(*found.values())]
    table("The page (bytes)", ["", "plain", "gzip"], [*rows, ["all", *(number(part, 0) for part in whole)]])
    return {"files": found, "plain": whole[0], "gzip": whole[1]}


def mqtt(_):
    found = line(peers(), HERE / "mqtt.py")
    rows = [[name, *found[name].values()] for name in ["hob", "paho echo"]]
    table("MQTT: a command at mosquitto until the state is there (ms)", ["", "p50", "p99"], rows)
    return found


ALL = [size, page, request, start, memory, writes, embedding, javascript, shells, dispatch, decide, pins, home, search, scheduler, tasks,
       recall, relevance, vectors, turns, decade, reflex, mqtt, rules, update, files,
       file_search, sandbox, pdf, web_page, browser]


def main():
    wanted = sys.argv[1:] or [one.__name__ for one in ALL]
    unknown = set(wanted) - {one.__name__ for one in ALL}
    if unknown:
        raise SystemExit(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(o.__name__ for o in ALL)}")
    OUT.mkdir(parents=True, exist_ok=True)
    build()
    machine = {"machine": platform.machine(), "cores": os.cpu_count(), "kernel": platform.release()}
    print(f"{machine['cores']} cores, {machine['machine']}, {os.getloadavg()[0]:.1f} tasks running before the first. "
          "Other work here moves time on the wall: trust CPU time, bytes and ratios.")
    # Not in the system's /tmp, which may be memory: what is durable is to be on a disk.
    with tempfile.TemporaryDirectory(dir=OUT, prefix="run-") as scratch:
        for one in ALL:
            if one.__name__ in wanted:
                found = one(Path(scratch))
                stamp = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **machine, "load": os.getloadavg()[0]}
                (OUT / f"{one.__name__}.json").write_text(json.dumps({**stamp, "found": found}, indent=1) + "\n")
    print(f"\nkept in {os.path.relpath(OUT)}/*.json")


main()
