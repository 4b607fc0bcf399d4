"""The released daemon as the benchmarks use it: started, asked over HTTP, looked at through /proc, stopped."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

TOKEN = "a-token-of-32-characters-for-the-benchmarks"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Daemon:
    """`hob serve` over the data in `folder`, in an environment of its own."""

    def __init__(self, binary, folder, environment=None):
        self.port = free_port()
        Path(folder).mkdir(parents=True, exist_ok=True)
        # The token is set up, so the device counts as claimed and everything answers.
        env = {"PATH": os.environ["PATH"], "HOB_TOKEN": TOKEN, "HOB_LOG": "warn", **(environment or {})}
        line = [str(binary), "serve", "--data", str(folder), "--board", "sim", "--listen", f"127.0.0.1:{self.port}"]
        self.log = Path(f"{folder}.log")
        self.begun = time.monotonic()
        with self.log.open("w") as log:
            self.process = subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=log, text=True)
        self.ready_after = None
        self._ready = threading.Thread(target=self._read, daemon=True)
        self._ready.start()

    def _read(self):
        if self.process.stdout.readline().startswith("hob ready"):
            self.ready_after = time.monotonic() - self.begun
        self.process.stdout.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def first_answer(self):
        """Seconds from the spawn to the first 200 of /healthz."""
        while True:
            try:
                if self.get("/healthz")[0] == 200:
                    return time.monotonic() - self.begun
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() - self.begun > 60:
                raise SystemExit(f"the daemon did not start:\n{self.log.read_text()}")
            time.sleep(0.001)

    def ready(self):
        """Waits for the line that says so."""
        while self.ready_after is None:
            if self.process.poll() is not None or time.monotonic() - self.begun > 60:
                raise SystemExit(f"the daemon did not say that it is ready:\n{self.log.read_text()}")
            time.sleep(0.001)
        return self.ready_after

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, body):
        status, text = self.ask("POST", path, body)
        if status not in (200, 201):
            raise SystemExit(f"POST {path} answers {status}: {text.decode(errors='replace')}")
        return json.loads(text)["data"]

    def call(self, tool, arguments):
        result = self.post(f"/api/v1/tools/{tool}/execute", {"arguments": arguments})
        if result["isError"]:
            raise SystemExit(f"{tool} fails: {result['result']}")
        return result["result"]

    def cpu_ms(self):
        """CPU time of the threads that are alive; at a start those are all there were."""
        spent = 0
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            spent += int((task / "schedstat").read_text().split()[0])
        return spent / 1e6

    def memory(self):
        """Megabytes: resident, its proportional share, and the part that is no file."""
        pid = self.process.pid
        status = numbers(f"/proc/{pid}/status")
        found = {"rss": status["VmRSS"], "pss": None, "anonymous": status["RssAnon"]}
        try:
            rollup = numbers(f"/proc/{pid}/smaps_rollup")
            found = {"rss": rollup["Rss"], "pss": rollup["Pss"], "anonymous": rollup["Anonymous"]}
        except PermissionError:
            # Hob is not dumpable: only root sees its share of shared pages.
            pass
        return {name: None if kb is None else round(kb / 1024, 1) for name, kb in found.items()}


def numbers(file):
    """The lines `Name:  123 kB` of a file in /proc."""
    lines = (line.split() for line in Path(file).read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1]) for words in lines if len(words) == 3 and words[2] == "kB"}


def copy_of(binary, folder):
    """A copy, so that daemons which are measured at the same time share no page of the program."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    return shutil.copy(binary, Path(folder) / "hob")


class ModelServer(threading.Thread):
    """A model that answers "pong" in OpenAI's streaming format, and keeps the bytes of the first request."""

    WORDS = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "pong"}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        self.head = self.body = b""
        self.start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                head, body = self.read(connection)
                if not self.body:
                    self.head, self.body = head, body
                text = "".join(f"data: {json.dumps(word)}\n\n" for word in self.WORDS) + "data: [DONE]\n\n"
                answer = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{text}"
                connection.sendall(answer.encode())

    @staticmethod
    def read(connection):
        text = b""
        while b"\r\n\r\n" not in text:
            text += connection.recv(65536)
        head, body = text.split(b"\r\n\r\n", 1)
        lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
        while len(body) < int(lengths[0]):
            body += connection.recv(65536)
        return head + b"\r\n\r\n", body
