"""The browser tools: memory of an open browser, and the time from an address to the text of its page."""

import http.server
import threading
import time
from pathlib import Path

import web_pages
from daemon import Daemon, numbers
from programs import HOB
from tables import middle, number, table, tenth


def serve(pages):
    """A server on loopback with a page at each number."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            at = self.path.strip("/").split("?")[0]
            body = pages[int(at)].encode() if at.isdigit() and int(at) < len(pages) else b""
            self.send_response(200 if body else 404)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def below(pid):
    """The processes that a process has started, and those that these have."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        children.setdefault(int(text.rsplit(")", 1)[1].split()[1]), []).append(int(stat.parent.name))
    found = []
    for each in children.get(pid, []):
        found += [each, *below(each)]
    return found


def memory(pid):
    """Megabytes of Chromium's processes below the daemon: resident, their share, and the part that is no file."""
    total = {"processes": 0, "rss": 0, "pss": 0, "anonymous": 0}
    for each in below(pid):
        try:
            if b"--user-data-dir" not in Path(f"/proc/{each}/cmdline").read_bytes():
                continue
            rollup = numbers(f"/proc/{each}/smaps_rollup")
        except OSError:
            continue
        total["processes"] += 1
        for name, key in [("rss", "Rss"), ("pss", "Pss"), ("anonymous", "Pss_Anon")]:
            total[name] += rollup[key] / 1024
    return {name: round(value, 1) for name, value in total.items()}


def browser(scratch, rounds):
    pages = [page for page, _ in web_pages.pages().values()]
    server = serve(pages)
    place = f"127.0.0.1:{server.server_port}"
    folder = scratch / "browser"
    folder.mkdir()
    (folder / "hob.toml").write_text(f'[http]\nallow = ["{place}"]\n[limits]\ncalls = 0\n')
    starts, loads, found = [], [], {}
    with Daemon(HOB, folder) as daemon:
        daemon.first_answer()

        def read(number_of_page):
            began = time.monotonic()
            daemon.call("browser_navigate", {"url": f"http://{place}/{number_of_page}"})
            text = daemon.call("browser_extract_text", {})["text"]
            if len(text) < 200:
                raise SystemExit(f"page {number_of_page} has no text: {text}")
            return (time.monotonic() - began) * 1e3

        for _ in range(rounds):
            starts.append(read(0))
            daemon.call("browser_close", {})
        read(0)
        time.sleep(2)
        found["one page"] = memory(daemon.process.pid)
        for at in range(len(pages)):
            loads.append(read(at))
        time.sleep(2)
        found["after 30 pages"] = memory(daemon.process.pid)
        daemon.call("browser_close", {})
        deadline = time.monotonic() + 20
        while memory(daemon.process.pid)["processes"] and time.monotonic() < deadline:
            time.sleep(0.1)
        found["closed"] = memory(daemon.process.pid)
    server.shutdown()
    rows = [[name, of["processes"], *(number(of[key]) for key in ("rss", "pss", "anonymous"))] for name, of in found.items()]
    table("An open browser (MB)", ["", "processes", "resident", "share", "no file"], rows)
    times = {"first page, with the start": starts, "next pages": loads}
    rows = [[name, number(middle(all_)), number(tenth(all_))] for name, all_ in times.items()]
    table("From an address to the text of its page (ms)", ["", "p50", "p90"], rows)
    return {"memory": found, "ms": {name: [middle(all_), tenth(all_)] for name, all_ in times.items()}}
