"""Shell commands by `exec`: one alone, and twenty at once, beside `sh` without a sandbox."""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from tables import middle, number, table

COMMAND = "echo hello"
AT_ONCE = 20
ROUNDS = 5


def timed(work):
    begun = time.monotonic()
    work()
    return (time.monotonic() - begun) * 1000


def many(work):
    """Milliseconds until all have ended."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return timed(lambda: list(pool.map(lambda _: work(), range(AT_ONCE))))


def measure(daemon):
    def ours():
        ran = daemon.call("exec", {"command": COMMAND})
        assert ran["stdout"] == "hello\n", ran

    def theirs():
        subprocess.run(["sh", "-c", COMMAND], capture_output=True, check=True)

    # A person's calls are limited to sixty a minute: the daemon of this bench has no limit.
    ours()
    found = {"oneMs": middle([timed(ours) for _ in range(4 * ROUNDS)]), "bareMs": middle([timed(theirs) for _ in range(4 * ROUNDS)]),
             "twentyMs": middle([many(ours) for _ in range(ROUNDS)]), "twentyBareMs": middle([many(theirs) for _ in range(ROUNDS)])}
    found["memoryMb"] = daemon.memory()
    rows = [["one command by exec (ms)", number(found["oneMs"]), number(found["bareMs"])],
            [f"{AT_ONCE} at once, until all have ended (ms)", number(found["twentyMs"]), number(found["twentyBareMs"])]]
    table("Shell commands in the sandbox, with the call, its files and their marks", ["", "measured", "sh alone"], rows)
    return found
