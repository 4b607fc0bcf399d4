"""Peers of recall: `hybrid.py sqlite-vec|usearch ROUNDS FOLDER` over the texts and vectors that `bench recall peer` wrote.

Words by SQLite's FTS5, meaning by sqlite-vec or usearch, both fused by reciprocal ranks, and the texts of the best ten read: what one
would build of these parts. The first run stores, the second measures.
"""

import json
import sys
import time
from collections import defaultdict
from pathlib import Path

import apsw
import numpy
import sqlite_vec
from nearest import first
from usearch.index import Index

SIZE, TOP, EACH = 384, 10, 100
ROW = numpy.dtype([("scale", "<f4"), ("values", "i1", SIZE)])


def read(folder):
    given = json.loads((folder / "peer.json").read_text())
    raw = numpy.fromfile(folder / "peer.i8", ROW)
    vectors = raw["values"].astype("<f4") * raw["scale"][:, None]
    count = len(given["texts"])
    return given["texts"], vectors[:count], list(zip(given["questions"], vectors[count:]))


def connect(file):
    db = apsw.Connection(str(file))
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    return db


def new_index():
    return Index(ndim=SIZE, metric="cos", dtype="i8")


def store(peer, folder, file):
    texts, vectors, _ = read(folder)
    db = connect(file)
    db.execute("pragma journal_mode=wal")
    db.execute("create table memory (id integer primary key, content text)")
    db.execute("create virtual table word using fts5(content, content=memory, content_rowid=id)")
    cpu, wall = time.process_time(), time.perf_counter()
    with db:
        db.executemany("insert into memory values (?, ?)", enumerate(texts))
        db.execute("insert into word(word) values ('rebuild')")
    if peer == "sqlite-vec":
        with db:
            db.execute(f"create virtual table v using vec0(e float[{SIZE}] distance_metric=cosine)")
            db.executemany("insert into v(rowid, e) values (?, ?)", ((n, row.tobytes()) for n, row in enumerate(vectors)))
    else:
        index = new_index()
        index.add(numpy.arange(len(vectors)), vectors)
        index.save(str(folder / "peer.usearch"))
    db.close()
    return {"seconds": time.perf_counter() - wall, "cpuMs": (time.process_time() - cpu) * 1e3}


def fused(*rankings):
    worth = defaultdict(float)
    for ranking in rankings:
        for place, one in enumerate(ranking):
            worth[one] += 1 / (60 + place)
    return sorted(worth, key=worth.get, reverse=True)[:TOP]


def measure(peer, rounds, folder, file):
    _, _, questions = read(folder)

    def open_it():
        db = connect(file)
        if peer == "sqlite-vec":
            near = lambda asked: [n for (n,) in db.execute(
                "select rowid from v where e match ? and k = ? order by distance", (asked.tobytes(), EACH))]
        else:
            index = new_index()
            index.load(str(folder / "peer.usearch"))
            near = lambda asked: [int(n) for n in index.search(asked, EACH).keys]

        def ask(question, asked):
            words = " OR ".join(question.split())
            by_words = [n for (n,) in db.execute(
                "select rowid from word where word match ? order by rank limit ?", (words, EACH))]
            best = fused(by_words, near(asked))
            marks = ",".join("?" * len(best))
            return dict(db.execute(f"select id, content from memory where id in ({marks})", best))

        ask(*questions[0])
        return ask, db

    ask, found, _kept = first(open_it)
    each = []
    for question, asked in questions:
        ask(question, asked)
        cpu, walls = time.process_time(), []
        for _ in range(rounds):
            at = time.perf_counter()
            hits = ask(question, asked)
            walls.append((time.perf_counter() - at) * 1e3)
        each.append({"cpuMs": (time.process_time() - cpu) * 1e3 / rounds, "p50Ms": sorted(walls)[rounds // 2], "hits": len(hits)})
    return {**found, "questions": each}


def main():
    peer, rounds, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    file = folder / f"{peer}.db"
    print(json.dumps(measure(peer, rounds, folder, file) if file.exists() else store(peer, folder, file)))


main()
