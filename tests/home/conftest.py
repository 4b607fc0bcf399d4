"""A real Home Assistant and a real Hob for each file of tests, on loopback."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# Networks of namespaces, and brokers.
sys.path.append(str(HERE.parent / "clients"))
os.environ.setdefault("HOB_BIN", str(HERE.parent.parent / "target/debug/hob"))
import ha as home_assistant  # noqa: E402
from lan import Lan  # noqa: E402

TOKEN = "a-token-of-at-least-32-characters-for-tests"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_ha(folder, *more):
    """Starts one by the script that people use."""
    command = [HERE / "ha", "start", "--port", str(free_port()), "--dir", folder, *more]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=240)
    assert json.loads(done.stdout)["token"]
    return home_assistant.Home(folder)


class Hob:
    """A claimed daemon over a data folder of its own. What is written to its pipe happens at its simulated pins."""

    def __init__(self, folder, arguments=("--no-mdns",), env=(), config=""):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.pipe = self.folder / "pins"
        os.mkfifo(self.pipe)
        config += "[limits]\ncalls = 0\n[approvals]\nin_call_seconds = 1\n[pins]\nswitches_per_second = 0\n"
        (self.folder / "test.toml").write_text(f'{config}[sim]\nscenario = "{self.pipe}"\n')
        self.log = self.folder / "log"
        self.arguments, self.env = arguments, dict(env)
        self.start()

    def start(self):
        env = {"PATH": os.environ["PATH"], "HOB_TOKEN": TOKEN, "HOB_LOG": "info", **self.env}
        command = [os.environ["HOB_BIN"], "serve", "--data", self.folder / "data", "--board", "sim", "--listen", "127.0.0.1:0",
                   "--config", self.folder / "test.toml", *self.arguments]
        with open(self.log, "a") as errors:
            self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
        line = self.process.stdout.readline().split()
        assert line, self.log.read_text()[-3000:]
        self.url = line[-1].rstrip("/")

    def kill(self):
        """As by a power cut."""
        self.process.kill()
        self.process.wait()

    def simulate(self, steps):
        with open(self.pipe, "w") as pipe:
            pipe.write(steps + "\n")

    def resident(self):
        """What it has in memory, in KB."""
        status = open(f"/proc/{self.process.pid}/status").read()
        return int(status.partition("VmRSS:")[2].split()[0])

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def call(self, tool, **arguments):
        """Calls a tool by hand, and returns its result, or raises its error."""
        status, answer = self.request("POST", f"/api/v1/tools/{tool}/execute", {"arguments": arguments})
        if status != 200:
            raise RuntimeError(json.dumps(answer))
        return answer["data"]["result"]

    def set_up(self, home, **fields):
        """Enters the service as an admin does, and waits until it is connected."""
        entry = {"label": "default", "fields": {"url": home.url, "token": home.token, **fields}}
        status, answer = self.request("POST", "/api/v1/config-services/home_assistant/entries", entry)
        assert status in (200, 201), answer
        return answer

    def wait_for_state(self, state, seconds=60):
        end = time.monotonic() + seconds
        while True:
            now = self.call("ha_status")
            if now["state"] == state:
                return now
            assert time.monotonic() < end, now
            time.sleep(0.1)

    def listen(self, topics):
        """Events of the bus, as they come."""
        headers = {"authorization": f"Bearer {TOKEN}"}
        request = urllib.request.Request(f"{self.url}/api/v1/events?topics={topics}", headers=headers)
        stream = urllib.request.urlopen(request, timeout=60)

        def events():
            for line in stream:
                if line.startswith(b"data:"):
                    yield json.loads(line[5:])

        return events()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(20) == 0, self.log.read_text()[-4000:]
        assert not (self.folder / "data" / "crash").exists(), self.log.read_text()[-4000:]


@pytest.fixture
def lan(tmp_path):
    made = Lan(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = start_ha(tmp_path_factory.mktemp("ha"))
    yield home
    home.stop()


@pytest.fixture(scope="module")
def hob(tmp_path_factory):
    hob = Hob(tmp_path_factory.mktemp("hob"))
    yield hob
    hob.stop()
