#!/usr/bin/env python3
"""run.py HOB SET.jsonl [--category a,b] [--ids x,y] [--jobs N]: says the dev sentences and prints what came of each."""
import argparse, json, shutil, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import sentences as S

class Bench(S.Bench):
    def run(self, row, name):
        folder = self.scratch / name
        base = "remembers" if row.get("out") else "plain"
        shutil.copytree(self.scratch / base, folder, ignore=shutil.ignore_patterns("*.sock"))
        house = S.Household(self.binary, folder, S.NOW - timedelta(minutes=30), self.cookie, self.csrf)
        lines = [f"## {row['id']} [{row['category']}]"]
        if row.get("setup"): lines.append(f"   setup: {row['setup']}")
        try:
            notes = []
            try:
                conversation = self.steps(house, row.get("steps", []), None, notes)
            except SystemExit as e:
                lines.append(f"   SETUP FAILED: {e}"); conversation = None
            house.at(S.NOW)
            for text in row["say"]:
                answer = house.say(text, conversation)
                conversation = answer["conversationId"]
                calls = [{k: c[k] for k in ("name", "arguments", "isError")} for c in S.shown(answer)]
                self.turns[row["id"]].append({"say": text, "reply": answer["response"], "calls": calls})
                lines.append(f" > {text}\n < {answer['response']}")
                for c in S.shown(answer):
                    lines.append(f"     {c['name']} {json.dumps(c['arguments'], ensure_ascii=False)}{' FAILED ' + c['result'][:200] if c['isError'] else ''}")
                house.later(8)
        finally:
            house.end()
            for path in (folder, Path(f"{folder}.clock"), Path(f"{folder}.log")):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        lines.append(f"   WANTED: {row['expect']}")
        return "\n".join(lines)

words = argparse.ArgumentParser()
words.add_argument("hob"); words.add_argument("rows"); words.add_argument("--category"); words.add_argument("--ids"); words.add_argument("--json"); words.add_argument("--jobs", type=int, default=2)
given = words.parse_args()
rows = S.read_rows(given.rows)
if given.category: rows = [r for r in rows if r["category"] in given.category.split(",")]
if given.ids: rows = [r for r in rows if r["id"] in given.ids.split(",")]
S.FAKETIME = S.faketime()
with tempfile.TemporaryDirectory(prefix="dev-", ignore_cleanup_errors=True) as scratch:
    bench = Bench(Path(given.hob).resolve(), scratch)
    bench.turns = {r["id"]: [] for r in rows}
    with ThreadPoolExecutor(given.jobs) as pool:
        for text in pool.map(lambda r: bench.run(r, f"r{r['id']}"), rows):
            print(text, flush=True); print()
    if given.json:
        Path(given.json).write_text("".join(json.dumps({"id": id, "turns": turns}, ensure_ascii=False) + "\n" for id, turns in bench.turns.items()))
