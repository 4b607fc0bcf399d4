"""Vectors like those of texts, and peers over them: `nearest.py data COUNT FOLDER`, `nearest.py sqlite-vec|usearch FOLDER`.

Each peer is measured in a process of its own: storing all vectors, the first search after opening, memory, and searches.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy

DIMENSIONS, QUERIES, TOP = 384, 100, 10


def data(count, folder):
    """Around topics, in few directions, with noise. Not centred on zero, as vectors of texts are not."""
    dice = numpy.random.default_rng(7)
    directions, topics = dice.normal(size=(40, DIMENSIONS)), dice.normal(size=(200, 40)) * 1.2
    away = dice.normal(size=DIMENSIONS) * 2

    def some(n):
        inner = topics[dice.integers(0, 200, n)] + dice.normal(size=(n, 40)) * 0.8
        rows = inner @ directions + dice.normal(size=(n, DIMENSIONS)) * 1.2 + away
        return (rows / numpy.linalg.norm(rows, axis=1, keepdims=True)).astype("<f4")

    rows, queries = numpy.concatenate([some(min(10_000, count - at)) for at in range(0, count, 10_000)]), some(QUERIES)
    truth = numpy.argsort(-(queries @ rows.T), axis=1, kind="stable")[:, :TOP].astype("<u4")
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in [("vectors.f32", rows), ("queries.f32", queries), ("truth.u32", truth)]:
        (folder / name).write_bytes(part.tobytes())
    return {"vectors": len(rows)}


def read(folder):
    rows = numpy.fromfile(folder / "vectors.f32", "<f4").reshape(-1, DIMENSIONS)
    queries = numpy.fromfile(folder / "queries.f32", "<f4").reshape(-1, DIMENSIONS)
    return rows, queries, numpy.fromfile(folder / "truth.u32", "<u4").reshape(-1, TOP)


def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def measured(queries, truth, ask):
    walls, hits, cpu = [], 0, time.process_time()
    for query, wanted in zip(queries, truth):
        at = time.perf_counter()
        found = ask(query)
        walls.append((time.perf_counter() - at) * 1e3)
        hits += len(set(found) & set(int(n) for n in wanted))
    cpu = (time.process_time() - cpu) * 1e3 / len(queries)
    return {"cpuMs": cpu, "p50Ms": sorted(walls)[len(walls) // 2], "recall": hits / truth.size}


def first(open_it):
    """Opens the stored data and makes the first search."""
    before, cpu, wall = resident(), time.process_time(), time.perf_counter()
    ask, *kept = open_it()
    load = {"cpuMs": (time.process_time() - cpu) * 1e3, "wallMs": (time.perf_counter() - wall) * 1e3}
    return ask, {"load": load, "residentMb": (resident() - before) / 1e6}, kept


def sqlite_vec(folder):
    # Many a Python's own sqlite3 is built without extensions.
    import apsw
    import sqlite_vec

    file = folder / "peer.db"

    def connect():
        db = apsw.Connection(str(file))
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        return db

    if not file.exists():
        rows, _, _ = read(folder)
        db = connect()
        db.execute("pragma journal_mode=wal")
        db.execute("pragma synchronous=full")
        db.execute(f"create virtual table v using vec0(e float[{DIMENSIONS}] distance_metric=cosine)")
        cpu, wall = time.process_time(), time.perf_counter()
        for at in range(0, len(rows), 100):
            with db:
                db.executemany("insert into v(rowid, e) values (?, ?)",
                               [(at + n, row.tobytes()) for n, row in enumerate(rows[at:at + 100])])
        filled = {"seconds": time.perf_counter() - wall, "cpuMs": (time.process_time() - cpu) * 1e3}
        # Closing moves all into the file.
        db.close()
        return {**filled, "diskBytes": file.stat().st_size}
    _, queries, truth = read(folder)

    def open_it():
        db = connect()
        ask = lambda query: [n for (n,) in db.execute(
            "select rowid from v where e match ? and k = ? order by distance", (query.tobytes(), TOP))]
        ask(queries[0])
        return ask, db

    ask, found, _kept = first(open_it)
    return {**found, "search": measured(queries, truth, ask)}


def usearch(folder):
    from usearch.index import Index

    file = folder / "peer.usearch"
    new = lambda: Index(ndim=DIMENSIONS, metric="cos", dtype="i8")
    if not file.exists():
        rows, _, _ = read(folder)
        cpu, wall = time.process_time(), time.perf_counter()
        index = new()
        index.add(numpy.arange(len(rows)), rows)
        index.save(str(file))
        return {"seconds": time.perf_counter() - wall, "cpuMs": (time.process_time() - cpu) * 1e3,
                "diskBytes": file.stat().st_size}
    _, queries, truth = read(folder)

    def open_it():
        index = new()
        index.load(str(file))
        ask = lambda query: [int(n) for n in index.search(query, TOP).keys]
        ask(queries[0])
        return ask, index

    ask, found, _kept = first(open_it)
    return {**found, "search": measured(queries, truth, ask)}


def main():
    what, *rest = sys.argv[1:]
    folder = Path(rest[-1])
    if what == "data":
        found = data(int(rest[0]), folder)
    else:
        found = {"sqlite-vec": sqlite_vec, "usearch": usearch}[what](folder)
    print(json.dumps({**found, "peakMb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}))


if __name__ == "__main__":
    main()
