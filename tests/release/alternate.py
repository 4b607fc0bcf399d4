"""Two versions of Hob by turns on one data folder: `alternate.py OLD NEW [TURNS]`, both programs; or `alternate.py --build COMMIT NEW`,
which builds the old one from a commit into a folder of its own (ten minutes).

Each turn starts one of them, reads everything that both wrote before, changes and adds records, and ends: in order, or by SIGKILL.
After each turn the other one has to read it all. The store's evolution rule promises that (`src/store/lib.rs`).
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

TOKEN = "hob_alternating_versions_0123456789abcdef"


class Hob:
    def __init__(self, program, data):
        words = [program, "--data", data, "serve", "--board", "sim", "--listen", "127.0.0.1:0", "--no-mdns"]
        self.log = open(data.parent / "log", "a+")
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        env={"HOB_TOKEN": TOKEN, "PATH": os.environ["PATH"]})
        for line in self.process.stdout:
            if line.startswith("hob ready "):
                self.url = line.split()[2]
                return
        raise SystemExit(f"{program} did not start: {(data.parent / 'log').read_text()[-2000:]}")

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refusal:
            raise SystemExit(f"{method} {path} {body}: {refusal.read().decode()}") from refusal

    def call(self, tool, **arguments):
        return self.ask("POST", f"/api/v1/tools/{tool}/execute", {"arguments": arguments})["result"]

    def end(self, how):
        self.process.send_signal(how)
        code = self.process.wait(60)
        assert code == (0 if how == signal.SIGTERM else -9), (how, code)


def built(commit):
    """The program of a commit."""
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hob-old-"))
    subprocess.run(["git", "-C", root, "worktree", "add", "--detach", folder / "source", commit], check=True)
    subprocess.run(["cargo", "build", "--bin", "hob"], cwd=folder / "source", check=True)
    return folder / "source/target/debug/hob"


def all_of(hob):
    """Everything that was written, in a form that both versions answer."""
    titles = lambda tool, key, name: sorted(one[name] for one in hob.call(tool, limit=50)[key])
    return {
        "memories": titles("list_memories", "memories", "content"),
        "tasks": titles("list_tasks", "tasks", "title"),
        "bookmarks": titles("list_bookmarks", "bookmarks", "title"),
        "notes": titles("list_notes", "notes", "title"),
        "pins": hob.call("gpio_read", pin=17)["pin"],
    }


def main():
    arguments = sys.argv[1:]
    old = built(arguments[1]) if arguments[0] == "--build" else arguments[0]
    new = arguments[2] if arguments[0] == "--build" else arguments[1]
    turns = int(arguments[-1]) if arguments[-1].isdigit() else 8
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hob-alternate-"))
    data = folder / "data"
    expected = {"memories": [], "tasks": [], "bookmarks": [], "notes": [], "pins": 17}
    changed = None
    for turn in range(turns):
        name, program = [("old", old), ("new", new)][turn % 2]
        hob = Hob(program, data)
        found = all_of(hob)
        assert found == expected, f"turn {turn} ({name}): {found} instead of {expected}"
        word = f"of turn {turn} by {name}"
        hob.call("remember", content=f"The word is {word}.")
        hob.call("add_task", title=f"Task {word}")
        hob.call("add_note", title=f"Note {word}", content=word * 50)
        bookmark = hob.call("add_bookmark", url=f"https://example.org/{turn}", title=f"Bookmark {word}", tags=["alternate"])
        if changed:
            # A record of the other version is changed by this one.
            hob.call("update_bookmark", bookmarkId=changed, title=f"Changed in turn {turn}")
        changed = bookmark.get("id") or bookmark["bookmark"]["id"]
        answer = hob.ask("POST", "/api/v1/chat", {"message": "what time is it?"})
        assert answer, "a conversation goes on"
        expected = all_of(hob)
        assert any(word in memory for memory in expected["memories"]), expected
        hob.end(signal.SIGKILL if turn % 3 == 2 else signal.SIGTERM)
        for which in (old, new):
            checked = subprocess.run([which, "--data", data, "doctor"], capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
            assert "amaged" not in checked.stdout + checked.stderr, (turn, which, checked.stdout, checked.stderr)
        print(f"turn {turn}: {name} read {sum(len(v) for v in found.values() if isinstance(v, list))} records and wrote on", flush=True)
    crashes = list((data / "crash").glob("*")) if (data / "crash").exists() else []
    assert not crashes, crashes
    print(f"{turns} turns, nothing lost: {folder}")


main()
