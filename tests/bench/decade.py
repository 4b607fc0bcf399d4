"""A Hob with ten years of a household in it beside one with a day of it: the same requests in turns, CPU time, bytes and memory."""

import json
import os
import statistics
import time
from pathlib import Path

from daemon import Daemon, ModelServer, copy_of

# Tool calls a minute are not what is measured.
CONFIG = "[limits]\ncalls = 0\n"
NAMES = ["day", "decade"]
STARTS = int(os.environ.get("BENCH_STARTS", "7"))
# From so many memories on, their index is saved to a file while nobody uses it.
SAVED_FROM = 4096
# What a value may cost after ten years, as a multiple of what it costs after a day.
AIM = 1.5


def cpu(daemon, work, rounds):
    """Milliseconds of CPU one of `rounds` takes; what runs on after the answer counts too."""
    before = settled(daemon)
    for n in range(rounds):
        work(n)
    return (settled(daemon) - before) / rounds


def settled(daemon):
    """The CPU time once nothing more is spent, or after three seconds."""
    last = spent(daemon)
    for _ in range(30):
        time.sleep(0.1)
        now = spent(daemon)
        if now - last < 0.3:
            return now
        last = now
    return last


def spent(daemon):
    """CPU time in milliseconds, ended threads too where the system counts them finely, else by ticks."""
    words = Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    ticks = (int(words[11]) + int(words[12])) * 1e3 / os.sysconf("SC_CLK_TCK")
    alive = daemon.cpu_ms()
    # Threads that ended are in the ticks alone.
    return alive if abs(alive - ticks) < 2e3 / os.sysconf("SC_CLK_TCK") * 10 else ticks


def written(daemon):
    """Bytes the daemon has sent to the disk."""
    lines = (line.split(":") for line in Path(f"/proc/{daemon.process.pid}/io").read_text().splitlines())
    return {name: int(value) for name, value in lines}["write_bytes"]


def size(folder):
    """Bytes of the data file and its log, as they take room on the disk."""
    return sum(file.stat().st_blocks * 512 for file in Path(folder).glob("hob.*") if file.is_file() and file.suffix != ".toml")


def calm(daemon, least=8, most=300):
    """Waits until the work that follows a first start is done: phrases, indexes, what an older folder lacks."""
    while json.loads(daemon.get("/api/v1/storage")[1])["data"]["indexing"] and time.monotonic() - daemon.begun < most:
        time.sleep(1)
    quiet, before = 0, daemon.cpu_ms()
    while quiet < 6 and time.monotonic() - daemon.begun < most:
        time.sleep(1)
        now = daemon.cpu_ms()
        quiet = quiet + 1 if now - before < 50 and time.monotonic() - daemon.begun > least else 0
        before = now


class Side:
    """One of the two: its folder, its daemon, and what was measured."""

    def __init__(self, name, binary, scratch, made):
        self.name, self.made, self.folder = name, made, scratch / name
        (self.folder / "hob.toml").write_text(CONFIG)
        self.binary = copy_of(binary, scratch / f"copy-{name}")
        # Not `test-model` of a server that hob would ask for more than answers.
        self.model = ModelServer()
        self.environment = {"HOB_MODEL": "custom/test-model", "HOB_LLM_URL": self.model.url, "HOB_LLM_KEY": "sk-test"}
        self.found, self.daemon, self.talk = {}, None, {}

    def start(self):
        self.daemon = Daemon(self.binary, self.folder, self.environment)
        self.daemon.first_answer()
        return self.daemon

    def stop(self):
        self.daemon.__exit__()
        self.daemon = None

    def get(self, path):
        status, text = self.daemon.get(path)
        if status != 200:
            raise SystemExit(f"GET {path} answers {status}: {text.decode(errors='replace')[:300]}")
        return json.loads(text)["data"], len(text)

    def turn(self, message, conversation=None):
        body = {"message": message, **({"conversationId": conversation} if conversation else {})}
        done = self.daemon.post("/api/v1/chat", body)
        if done["response"] != "pong":
            raise SystemExit(f"a turn is not answered by the model: {done}")
        return done["conversationId"]


def requests(side):
    """What is asked, how often, and how it is done: `(key, label, rounds, work)`."""
    long, daemon = side.made["long"], side.daemon

    def own(_):
        side.talk["own"] = side.turn("ping", side.talk.get("own"))

    def turn_in_long(_):
        side.turn("ping", long)

    def get(path):
        return lambda _: side.get(path)

    def call(tool, arguments):
        return lambda _: daemon.call(tool, arguments)

    return [
        ("turn", "a turn", 20, own),
        ("turnLong", "a turn in the longest conversation", 10, turn_in_long),
        ("conversations", "GET /conversations", 20, get("/api/v1/conversations")),
        ("conversation", "GET /conversations/{id}, the longest", 10, get(f"/api/v1/conversations/{long}")),
        ("runs", "GET /runs?limit=20", 20, get("/api/v1/runs?limit=20")),
        ("searchTalk", "search in conversations: a word", 5, get("/api/v1/conversations?query=boiler")),
        ("tasks", "list_tasks", 20, call("list_tasks", {})),
        # Both answer as many: 20 of many, and one.
        ("searchTasks", "list_tasks, a word that all have", 10, call("list_tasks", {"search": "number"})),
        ("searchOne", "list_tasks, a word that some have, the first", 10, call("list_tasks", {"search": "ladder", "limit": 1})),
        ("searchSome", "list_tasks, a word that some have, 20", 10, call("list_tasks", {"search": "ladder"})),
        ("searchNone", "list_tasks, a word that none has", 10, call("list_tasks", {"search": "platypus"})),
        ("memories", "list_memories", 10, call("list_memories", {})),
        ("memoryStats", "memory_stats", 5, call("memory_stats", {})),
        ("audit", "GET /audit", 10, get("/api/v1/audit?limit=20")),
        ("metrics", "GET /metrics", 10, lambda _: daemon.get("/metrics")),
        ("patrol", "POST /check: every record", 1, lambda _: daemon.post("/api/v1/check", {})),
    ]


def facts(side):
    """Bytes written for a fact: one alone, one of a group, a task, a turn."""
    daemon = side.daemon

    def bytes_of(count, work):
        time.sleep(7)
        before = written(daemon)
        for n in range(count):
            work(n)
        # What waits for company is written within 5 s, and belongs to it.
        time.sleep(7)
        return (written(daemon) - before) / count

    def group(n):
        all_ = [{"content": f"Shelf {n} board {at} holds a box of the year {1900 + at}"} for at in range(32)]
        daemon.call("batch_remember", {"memories": all_})

    alone = lambda n: daemon.call("remember", {"content": f"The drawer {n} in the hall holds the spare keys of door {n}"})
    side.found["factBytes"] = bytes_of(20, alone)
    side.found["groupBytes"] = bytes_of(3, group) / 32
    side.found["taskBytes"] = bytes_of(20, lambda n: daemon.call("add_task", {"title": f"paint the fence panel {n}"}))
    side.found["turnBytes"] = bytes_of(20, lambda _: side.turn("ping", side.talk["own"]))


def recalls(side):
    """The first recall since the start, by wall and CPU, and later ones."""
    daemon = side.daemon
    query = {"query": "where did somebody repair the pump?", "limit": 5}
    before, begun = settled(daemon), time.monotonic()
    daemon.call("recall", query)
    side.found["recallFirstMs"] = (time.monotonic() - begun) * 1e3
    side.found["recallFirst"] = settled(daemon) - before
    side.found["recall"] = cpu(daemon, lambda n: daemon.call("recall", {**query, "query": f"who painted window {n}?"}), 20)


def measure(binary, fill, scratch, long_idle=False):
    """`fill(name, folder)` makes the folder; gives what was measured of both."""
    sides = [Side(name, binary, scratch, fill(name, scratch / name)) for name in NAMES]
    for side in sides:
        side.found["seedSeconds"] = side.made["seconds"]
        # A first start computes what an older folder lacks.
        side.start()
        begun = time.monotonic()
        calm(side.daemon)
        if side.made["records"]["memories"] >= SAVED_FROM:
            index = side.folder / "memory.index"
            while not index.exists() and time.monotonic() - begun < 400:
                time.sleep(1)
            if not index.exists():
                raise SystemExit("the index of the memories was not saved")
            calm(side.daemon)
        side.found["settleSeconds"] = time.monotonic() - begun
        side.stop()
    starts = {side.name: [] for side in sides}
    for _ in range(STARTS):
        for side in sides:
            side.start()
            starts[side.name].append(side.daemon.cpu_ms())
            side.stop()
    for side in sides:
        side.found["start"] = statistics.median(starts[side.name])
        side.start()
    for side in sides:
        time.sleep(max(0, side.daemon.begun + 12 - time.monotonic()))
        side.found["idle"] = side.daemon.memory()
        side.found["size"] = size(side.folder)
    for side in sides:
        recalls(side)
    plans = [requests(side) for side in sides]
    for together in zip(*plans):
        for side, (key, _, rounds, work) in zip(sides, together):
            work(0)
            side.found[key] = cpu(side.daemon, work, rounds)
    for side in sides:
        side.found["used"] = side.daemon.memory()
        facts(side)
    if long_idle:
        time.sleep(660)
        for side in sides:
            side.found["unloaded"] = side.daemon.memory()
    for side in sides:
        side.stop()
    labels = {key: label for key, label, _, _ in plans[0]}
    return {"labels": labels, **{side.name: side.found for side in sides}, "records": sides[1].made["records"]}


def rows(found):
    """The lines of the table: label, after a day, after ten years, ratio."""
    day, decade = found["day"], found["decade"]
    lines = [("start: CPU ms to the first answer", day["start"], decade["start"], 1)]
    for state, label in [("idle", "idle"), ("used", "after all requests"), ("unloaded", "after 11 idle minutes")]:
        if state in day:
            lines.append((f"memory {label}: RSS MB", day[state]["rss"], decade[state]["rss"], 1))
            lines.append((f"memory {label}: anonymous MB", day[state]["anonymous"], decade[state]["anonymous"], 1))
    lines += [(f"{label}: CPU ms", day[key], decade[key], 2) for key, label in found["labels"].items()]
    lines += [("recall, the first: ms on the wall", day["recallFirstMs"], decade["recallFirstMs"], 0),
              ("recall, the first: CPU ms", day["recallFirst"], decade["recallFirst"], 0),
              ("recall, later: CPU ms", day["recall"], decade["recall"], 1)]
    for key, label in [("factBytes", "a fact alone: KB written"), ("groupBytes", "a fact in a group of 32: KB written"),
                       ("taskBytes", "a task alone: KB written"), ("turnBytes", "a turn: KB written")]:
        lines.append((label, day[key] / 1e3, decade[key] / 1e3, 1))
    lines.append(("files on disk: MB", day["size"] / 1e6, decade["size"] / 1e6, 1))
    return lines


def is_bounded(label):
    """Whether the aim holds for a line: memory, recall, what reads every record, and the size may grow; after a day, a word that
    some have finds one task and not 20."""
    return not label.startswith(("recall", "files", "POST /check")) and not label.endswith(", 20: CPU ms") and "after all requests" not in label
