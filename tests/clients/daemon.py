"""A claimed daemon on loopback, for as long as it is needed; it must end well, with nothing broken inside."""

import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

TOKEN = "a-token-of-at-least-32-characters-for-tests"


@contextmanager
def running(folder, **environment):
    """Starts it over a data folder of its own within `folder`, and gives its address."""
    data, log, config = Path(folder) / "hob", Path(folder) / "log", Path(folder) / "test.toml"
    # Tests call faster than people.
    config.write_text("[limits]\ncalls = 0\n[approvals]\nin_call_seconds = 2\n")
    env = {"PATH": os.environ["PATH"], "HOB_TOKEN": TOKEN, "HOB_LOG": "warn", **environment}
    command = [os.environ["HOB_BIN"], "serve", "--data", data, "--board", "sim", "--listen", "127.0.0.1:0", "--no-mdns"]
    command += ["--config", config]
    with open(log, "w") as errors:
        daemon = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        yield daemon.stdout.readline().split()[-1]
    finally:
        daemon.terminate()
        assert daemon.wait(20) == 0, log.read_text()[-4000:]
        assert not (data / "crash").exists(), log.read_text()[-4000:]
