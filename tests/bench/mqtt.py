"""MQTT: from a command at the broker to the confirmed state of the pin, beside a paho echo client in the same run.

    HOB_BIN=target/debug/hob python tests/bench/mqtt.py [ROUNDS]

Needs mosquitto, and paho-mqtt 2 in this Python. Both answer on loopback through the same broker: Hob switches a simulated pin by a
dispatched and audited call and publishes its state; paho only publishes again what it received.
"""

import json
import os
import pathlib
import socket
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "clients"))
from broker import Broker, until  # noqa: E402
from test_mqtt import BASE, Hob  # noqa: E402

import paho.mqtt.client as paho  # noqa: E402


def client():
    """One that sends at once: otherwise the first of two small packets holds the second back until it is acknowledged."""
    made = paho.Client(paho.CallbackAPIVersion.VERSION2)
    made.on_socket_open = lambda _, __, sock: sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


class Caller:
    """Sends, and waits for the answer."""

    def __init__(self, port, answer):
        self.came, self.payload = threading.Event(), None
        self.client = client()
        ready = threading.Event()
        self.client.on_subscribe = lambda *_: ready.set()
        self.client.on_message = self.take
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        self.client.subscribe(answer, 1)
        assert ready.wait(10)

    def take(self, _, __, message):
        if message.payload == self.payload:
            self.came.set()

    def round(self, topic, payload):
        self.came.clear()
        self.payload = payload
        begun = time.perf_counter()
        self.client.publish(topic, payload, 1)
        assert self.came.wait(10), topic
        return (time.perf_counter() - begun) * 1000


def spread(times):
    times = sorted(times)
    return {"p50 ms": round(times[len(times) // 2], 2), "p99 ms": round(times[int(len(times) * 0.99)], 2)}


def measure(rounds):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        broker, hob = Broker(folder / "broker", lines=["set_tcp_nodelay true"]), Hob(folder / "hob", "[pins]\nswitches_per_second = 0\n")
        hob.call("name_pin", pin=17, name="Lamp")
        hob.set_up(broker.port)
        until("connected", lambda: hob.call("mqtt_status")["state"] == "connected")
        echo = client()
        echo.on_message = lambda _, __, m: echo.publish("echo/state", m.payload, 1, True)
        echo.connect("127.0.0.1", broker.port)
        echo.loop_start()
        echo.subscribe("echo/set", 1)
        ours, theirs = Caller(broker.port, f"{BASE}/pin/17/state"), Caller(broker.port, "echo/state")
        time.sleep(1)
        ours_ms, theirs_ms = [], []
        for n in range(rounds):
            payload = b"ON" if n % 2 == 0 else b"OFF"
            ours_ms.append(ours.round(f"{BASE}/pin/17/set", payload))
            theirs_ms.append(theirs.round("echo/set", payload))
        result = {"rounds": rounds, "hob": spread(ours_ms), "paho echo": spread(theirs_ms), "hob RSS MB": round(hob.memory() / 1024, 1)}
        for each in (echo, ours.client, theirs.client):
            each.disconnect()
            each.loop_stop()
        hob.stop()
        broker.stop()
        return result


if __name__ == "__main__":
    os.environ.setdefault("HOB_BIN", str(HERE.parent.parent / "target/release/hob"))
    print(json.dumps(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 400), indent=1))
