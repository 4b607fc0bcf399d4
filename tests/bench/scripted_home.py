"""A Home Assistant of 2,000 entities that changes 500 times a second: a WebSocket server of the standard library alone.

    python3 tests/bench/scripted_home.py HOB      prints the figures of a Hob, as `make bench ONLY=home` does
"""

import base64
import hashlib
import json
import socket
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOMS = ["Kitchen", "Living room", "Hall", "Bedroom", "Office", "Bathroom", "Garage", "Garden", "Cellar", "Attic"]
KINDS = [("light", "lamp", {"supported_color_modes": ["brightness"]}), ("switch", "socket", {}),
         ("sensor", "temperature", {"device_class": "temperature", "unit_of_measurement": "°C"}),
         ("sensor", "power", {"device_class": "power", "unit_of_measurement": "W"}),
         ("binary_sensor", "motion", {"device_class": "motion"}), ("cover", "blind", {"supported_features": 15})]
QUERIES = ["kitchen lamp 17", "temperature in the bedroom", "blinds", "garage motion", "offise power", "everything in the attic"]


def entities(count):
    all_of_them = {}
    for n in range(count):
        domain, word, attributes = KINDS[n % len(KINDS)]
        room = ROOMS[n // len(KINDS) % len(ROOMS)]
        name = f"{room} {word} {n}"
        state = "21.5" if domain == "sensor" else "off"
        all_of_them[f"{domain}.{name.lower().replace(' ', '_')}"] = {"s": state, "a": {"friendly_name": name, **attributes}, "lc": 1.0}
    return all_of_them


class ScriptedHome:
    """Answers one client after another; `rate` changes a second flow once `flowing` is set."""

    def __init__(self, count, rate):
        self.entities, self.rate = entities(count), rate
        self.sensors = [i for i in self.entities if i.startswith("sensor.")]
        self.flowing, self.sent = threading.Event(), 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection):
        stream, lock = connection.makefile("rb"), threading.Lock()
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += stream.readline()
        key = next(line.split(b": ", 1)[1].strip() for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key"))
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")

        def say(message):
            text = json.dumps(message).encode()
            size = len(text)
            head = b"\x81" + (bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size) if size < 65536
                              else b"\x7f" + struct.pack(">Q", size))
            with lock:
                connection.sendall(head + text)

        say({"type": "auth_required"})
        while True:
            first = stream.read(2)
            if len(first) < 2 or first[0] & 15 == 8:
                return
            size = first[1] & 127
            size = struct.unpack(">H", stream.read(2))[0] if size == 126 else size
            mask = stream.read(4)
            command = json.loads(bytes(b ^ mask[i % 4] for i, b in enumerate(stream.read(size))))
            if command["type"] == "auth":
                say({"type": "auth_ok"})
                continue
            if command["type"] == "ping":
                say({"id": command["id"], "type": "pong"})
                continue
            results = {"get_config": {"version": "2024.12.5", "location_name": "Bench"}, "get_services": {}}
            result = results.get(command["type"], [] if command["type"].endswith("/list") else None)
            say({"id": command["id"], "type": "result", "success": True, "result": result})
            if command["type"] == "subscribe_entities":
                say({"id": command["id"], "type": "event", "event": {"a": self.entities}})
                threading.Thread(target=self._flow, args=(say, command["id"]), daemon=True).start()

    def _flow(self, say, subscription):
        self.flowing.wait()
        begun, sent = time.monotonic(), 0
        try:
            while self.flowing.is_set():
                due = int((time.monotonic() - begun) * self.rate)
                while sent < due:
                    sensor = self.sensors[sent % len(self.sensors)]
                    change = {sensor: {"+": {"s": str(20 + sent % 977 / 10), "lc": 1.0 + sent}}}
                    say({"id": subscription, "type": "event", "event": {"c": change}})
                    sent += 1
                self.sent = sent
                time.sleep(0.005)
        except OSError:
            pass


def measure(hob, folder, count=2000, rate=500, seconds=20, rounds=6):
    """CPU and memory of a Hob that follows a home, and CPU of a search among its entities: below 60 calls a minute."""
    from daemon import Daemon

    home = ScriptedHome(count, rate)
    with Daemon(hob, Path(folder) / "home") as daemon:
        daemon.ready()
        before = daemon.memory()
        entry = {"label": "default", "fields": {"url": home.url, "token": "a-token-of-a-scripted-home"}}
        daemon.post("/api/v1/config-services/home_assistant/entries", entry)
        end = time.monotonic() + 60
        while daemon.call("ha_status", {})["state"] != "connected":
            if time.monotonic() > end:
                raise SystemExit(f"the scripted home is not followed: {daemon.log.read_text()[-2000:]}")
            time.sleep(0.05)
        connected = daemon.memory()
        idle = daemon.cpu_ms()
        time.sleep(3)
        idle = (daemon.cpu_ms() - idle) / 3
        home.flowing.set()
        begun, spent = time.monotonic(), daemon.cpu_ms()
        time.sleep(seconds)
        spent, took, sent = daemon.cpu_ms() - spent, time.monotonic() - begun, home.sent
        flowing = daemon.memory()
        home.flowing.clear()
        time.sleep(0.5)
        searches = []
        for query in QUERIES:
            daemon.call("ha_find_entities", {"query": query})
            start = daemon.cpu_ms()
            for _ in range(rounds):
                daemon.call("ha_find_entities", {"query": query})
            searches.append((daemon.cpu_ms() - start) / rounds)
        start = daemon.cpu_ms()
        for _ in range(rounds):
            daemon.call("ha_status", {})
        call = (daemon.cpu_ms() - start) / rounds
    return {"entities": count, "rate": sent / took, "cpuPercent": (spent / took - idle) / 10, "idlePercent": idle / 10,
            "usPerEvent": (spent - idle * took) * 1000 / max(sent, 1), "before": before, "connected": connected, "flowing": flowing,
            "searchMs": {query: ms - call for query, ms in zip(QUERIES, searches)}, "callMs": call}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(measure(sys.argv[1], scratch), indent=1))
