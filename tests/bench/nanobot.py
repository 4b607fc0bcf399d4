"""nanobot, the peer of `turns`: says messages in one session, as its command `nanobot agent -m` does, and prints JSON.

    nanobot.py FOLDER URL MESSAGE...

FOLDER becomes its home, with a fresh workspace and a configuration for the model server at URL. All its own defaults stay.
Each line of the answer is for one message: the text, CPU time, and when its first word came (of the system's monotonic clock).
"""

import asyncio
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path


def at_home(folder, url):
    """A configuration with nothing but the model in it."""
    home = Path(folder)
    os.environ["HOME"] = str(home)
    config = home / ".nanobot" / "config.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    defaults = {"workspace": str(home / "workspace"), "model": "test-model", "provider": "custom"}
    providers = {"custom": {"apiKey": "sk-test", "apiBase": url}}
    config.write_text(json.dumps({"providers": providers, "agents": {"defaults": defaults}}))
    return config


async def say(config, messages):
    from loguru import logger
    from nanobot.nanobot import STREAM_EVENT_TEXT_DELTA, Nanobot
    from nanobot.utils.helpers import sync_workspace_templates

    logger.remove()
    bot = Nanobot.from_config(config)
    # What its command does before the first message.
    sync_workspace_templates(Path(json.loads(config.read_text())["agents"]["defaults"]["workspace"]))
    print(json.dumps({"version": version("nanobot-ai"), "readyCpuMs": time.process_time() * 1e3}), flush=True)
    for message in messages:
        begun, first = time.process_time(), None
        run = await bot.run_streamed(message, session_key="bench:one")
        async for event in run.stream_events():
            if first is None and event.type == STREAM_EVENT_TEXT_DELTA:
                first = time.monotonic()
        result = await run.wait()
        told = {"answer": result.content, "cpuMs": (time.process_time() - begun) * 1e3, "first": first}
        print(json.dumps(told), flush=True)


def main():
    folder, url, *messages = sys.argv[1:]
    # The folder of this file would hide the package of the same name.
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).resolve().parent]
    asyncio.run(say(at_home(folder, url), messages))


main()
