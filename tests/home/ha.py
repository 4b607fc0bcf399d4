"""A real Home Assistant for tests: set up by script, with the entities of its `demo` integration, on loopback.

    tests/home/ha start --port 18123 --dir /tmp/x [--host 127.0.0.1] [--zeroconf] [--yaml FILE]
    tests/home/ha restart --dir /tmp/x      the same data, and the same token
    tests/home/ha stop --dir /tmp/x
    tests/home/ha ws --dir /tmp/x '{"type": "config/area_registry/list"}'   one WebSocket command as the owner

`start` prints one line of JSON: {"url": …, "token": …, "pid": …}; the same is in DIR/ha.json. `--zeroconf` announces it and
finds others; `--yaml` adds to its configuration.
"""

import argparse
import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import aiohttp

HERE = pathlib.Path(__file__).resolve().parent
HASS = HERE / ".venv" / "bin" / "hass"
CONFIGURATION = """
homeassistant:
  name: Test Home
  latitude: 48.2
  longitude: 16.37
  elevation: 170
  unit_system: metric
  currency: EUR
  country: AT
  time_zone: Europe/Vienna
http:
  server_host: {host}
  server_port: {port}
api:
config:
conversation:
recorder:
  commit_interval: 0
history:
demo:
automation:
script:
  movie_time:
    alias: Movie time
    sequence:
      - action: light.turn_off
        target: {{entity_id: light.ceiling_lights}}
  let_me_in:
    alias: Let me in
    sequence:
      - action: lock.unlock
        target: {{entity_id: lock.front_door}}
scene:
  - name: Reading
    entities:
      light.bed_light: "on"
logger:
  default: warning
"""
# Rooms, on their floors, and what is in them.
ROOMS = {
    "Living Room": ("Ground floor", ["light.ceiling_lights", "cover.living_room_window", "climate.hvac"], ["lounge"]),
    "Kitchen": ("Ground floor", ["light.kitchen_lights", "cover.kitchen_window"], []),
    "Hall": ("Ground floor", ["light.entrance_color_white_lights", "cover.hall_window", "alarm_control_panel.security"],
             ["hallway"]),
    "Bedroom": ("Upstairs", ["light.bed_light", "climate.ecobee"], []),
    "Office": ("Upstairs", ["light.office_rgbw_lights"], ["study"]),
    "Garage": ("Ground floor", ["cover.garage_door"], []),
}


class Home:
    """What `start` wrote down."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.about = json.loads((self.folder / "ha.json").read_text())

    def __getattr__(self, name):
        return self.about[name]

    def save(self):
        (self.folder / "ha.json").write_text(json.dumps(self.about))

    def spawn(self):
        """Starts the process, away from the terminal."""
        log = open(self.folder / "ha.out", "ab")
        path = f"{self.folder}/bin:{HERE}/.venv/bin:{os.environ['PATH']}"
        process = subprocess.Popen(
            [HASS, "--config", self.folder, "--skip-pip", "--log-file", self.folder / "ha.log"],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "PATH": path, "HOME": str(self.folder)})
        self.about["pid"] = process.pid
        self.save()

    def stop(self, sig=signal.SIGTERM):
        """Ends the process and waits for it."""
        try:
            os.kill(self.pid, sig)
            for _ in range(600):
                os.kill(self.pid, 0)
                try:
                    os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:
                    pass
                time.sleep(0.1)
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    async def answers(self):
        """Waits until it answers."""
        end = time.monotonic() + 120
        async with aiohttp.ClientSession() as session:
            while True:
                try:
                    async with session.get(f"{self.url}/manifest.json") as answer:
                        await answer.read()
                    async with session.get(f"{self.url}/api/onboarding") as answer:
                        # Once its owner is known, it does not have this any more.
                        return [] if answer.status == 404 else await answer.json()
                except (aiohttp.ClientError, OSError, ValueError):
                    if time.monotonic() > end:
                        sys.exit(f"Home Assistant does not answer; see {self.folder}/ha.out and ha.log")
                    await asyncio.sleep(0.2)

    async def running(self):
        """Waits until every integration is loaded."""
        end = time.monotonic() + 120
        while True:
            try:
                if (await self.rest("GET", "/api/config"))["state"] == "RUNNING":
                    return
            except aiohttp.ClientError:
                # Not everything answers yet.
                pass
            if time.monotonic() > end:
                sys.exit("Home Assistant does not finish its start")
            await asyncio.sleep(0.2)

    async def rest(self, method, path, body=None, token=None):
        headers = {"authorization": f"Bearer {token or self.token}"}
        async with aiohttp.ClientSession() as session:
            async with session.request(method, self.url + path, json=body, headers=headers) as answer:
                answer.raise_for_status()
                return await answer.json()

    async def ws(self, *commands, token=None):
        """The results of WebSocket commands."""
        results = []
        async with aiohttp.ClientSession() as session, session.ws_connect(f"{self.url}/api/websocket") as ws:
            await ws.receive_json()
            await ws.send_json({"type": "auth", "access_token": token or self.token})
            said = await ws.receive_json()
            if said["type"] != "auth_ok":
                raise PermissionError(said)
            for number, command in enumerate(commands, 1):
                await ws.send_json({"id": number, **command})
                answer = await ws.receive_json()
                if not answer["success"]:
                    raise RuntimeError(f"{command}: {answer['error']}")
                results.append(answer["result"])
        return results

    async def onboard(self):
        """Makes the owner and a token that lasts."""
        client = self.url + "/"
        async with aiohttp.ClientSession() as session:
            owner = {"client_id": client, "name": "Owner", "username": "owner", "password": "owner-pass", "language": "en"}
            async with session.post(f"{self.url}/api/onboarding/users", json=owner) as answer:
                answer.raise_for_status()
                code = (await answer.json())["auth_code"]
            form = {"client_id": client, "grant_type": "authorization_code", "code": code}
            async with session.post(f"{self.url}/auth/token", data=form) as answer:
                answer.raise_for_status()
                access = (await answer.json())["access_token"]
        lasting = {"type": "auth/long_lived_access_token", "client_name": "Hob", "lifespan": 365}
        self.about["token"] = (await self.ws(lasting, token=access))[0]
        self.save()

    async def furnish(self):
        """Rooms and floors, and what is in them."""
        floors = {}
        for floor in ("Ground floor", "Upstairs"):
            [made] = await self.ws({"type": "config/floor_registry/create", "name": floor})
            floors[floor] = made["floor_id"]
        known = {e["entity_id"] for e in (await self.ws({"type": "config/entity_registry/list"}))[0]}
        # The owner's start has made some rooms.
        rooms = {area["name"]: area["area_id"] for area in (await self.ws({"type": "config/area_registry/list"}))[0]}
        for room, (floor, entities, aliases) in ROOMS.items():
            area = {"type": "config/area_registry/create", "name": room, "floor_id": floors[floor], "aliases": aliases}
            if room in rooms:
                area |= {"type": "config/area_registry/update", "area_id": rooms[room]}
            [made] = await self.ws(area)
            put = [{"type": "config/entity_registry/update", "entity_id": entity, "area_id": made["area_id"]}
                   for entity in entities if entity in known]
            await self.ws(*put)
            missing = set(entities) - known
            if missing:
                print("not there:", ", ".join(sorted(missing)), file=sys.stderr)
        alias = {"type": "config/entity_registry/update", "entity_id": "light.bed_light", "aliases": ["night lamp"]}
        await self.ws(alias)


async def start(args):
    folder = pathlib.Path(args.dir).resolve()
    (folder / ".storage").mkdir(parents=True, exist_ok=True)
    (folder / "bin").mkdir(exist_ok=True)
    stub = folder / "bin" / "ffmpeg"
    stub.write_text("#!/bin/sh\necho ffmpeg version 6.0\n")
    stub.chmod(0o755)
    text = CONFIGURATION.format(host=args.host, port=args.port)
    if args.zeroconf:
        text += "zeroconf:\n"
    if args.yaml:
        text += pathlib.Path(args.yaml).read_text()
    (folder / "configuration.yaml").write_text(text)
    # The steps of a first start that look at the internet.
    steps = {"version": 4, "minor_version": 1, "key": "onboarding",
             "data": {"done": ["core_config", "analytics", "integration"]}}
    onboarding = folder / ".storage" / "onboarding"
    if not onboarding.exists():
        onboarding.write_text(json.dumps(steps))
    (folder / "ha.json").write_text(json.dumps({"url": f"http://{args.host}:{args.port}"}))
    home = Home(folder)
    home.spawn()
    steps = await home.answers()
    if any(step["step"] == "user" and not step["done"] for step in steps):
        await home.onboard()
        await home.running()
        await home.furnish()
    print(json.dumps(home.about))


async def restart(args):
    home = Home(args.dir)
    home.stop()
    home.spawn()
    await home.answers()
    await home.running()
    print(json.dumps(home.about))


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, run in (("start", start), ("restart", restart)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("--dir", required=True)
        if name == "start":
            command.add_argument("--port", type=int, required=True)
            command.add_argument("--host", default="127.0.0.1")
            command.add_argument("--zeroconf", action="store_true")
            command.add_argument("--yaml")
    stopping = commands.add_parser("stop")
    stopping.add_argument("--dir", required=True)
    stopping.set_defaults(run=None)
    ws = commands.add_parser("ws")
    ws.add_argument("--dir", required=True)
    ws.add_argument("command")
    ws.set_defaults(run="ws")
    args = parser.parse_args()
    if args.run is None:
        Home(args.dir).stop()
    elif args.run == "ws":
        print(json.dumps((await Home(args.dir).ws(json.loads(args.command)))[0]))
    else:
        await args.run(args)


if __name__ == "__main__":
    asyncio.run(main())
