"""A real mosquitto on loopback, and a paho client that remembers what it received."""

import socket
import subprocess
import time
from pathlib import Path

import paho.mqtt.client as paho

PATIENCE = 20
DAEMON = "/usr/sbin/mosquitto"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until(what, check, patience=PATIENCE):
    """Waits until `check` gives something."""
    end = time.monotonic() + patience
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < end, what
        time.sleep(0.01)


class Broker:
    """`lines` are added to its configuration; `users` are names and passwords."""

    def __init__(self, folder, users=(), lines=()):
        self.folder, self.port, self.process = Path(folder), free_port(), None
        self.folder.mkdir(exist_ok=True)
        # Otherwise it becomes the user `mosquitto`, who may not read this folder.
        config = ["user root", f"listener {self.port} 127.0.0.1", *lines]
        config.append("allow_anonymous false" if users else "allow_anonymous true")
        passwords = self.folder / "passwords"
        for name, password in users:
            create = [] if passwords.exists() else ["-c"]
            subprocess.run(["mosquitto_passwd", "-b", *create, passwords, name, password], check=True)
            config += [f"password_file {passwords}"] if create else []
        (self.folder / "mosquitto.conf").write_text("\n".join(config) + "\n")
        self.start()

    def start(self):
        log = open(self.folder / "mosquitto.log", "a")
        command = [DAEMON, "-c", self.folder / "mosquitto.conf", "-v"]
        self.process = subprocess.Popen(command, stdout=log, stderr=log)

        def listens():
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", self.port)) == 0

        until("mosquitto listens", listens)

    def restart(self):
        self.stop()
        self.start()

    def log(self):
        return (self.folder / "mosquitto.log").read_text()

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(PATIENCE)
            self.process = None


class Peer:
    """Another program at the broker."""

    def __init__(self, port, user=None, password=None, ca=None, topics="#"):
        self.client = paho.Client(paho.CallbackAPIVersion.VERSION2)
        self.messages = []
        self.client.on_connect = lambda *_: self.client.subscribe(topics, 1)
        self.client.on_message = lambda _, __, message: self.messages.append(message)
        subscribed = []
        self.client.on_subscribe = lambda *_: subscribed.append(True)
        if user:
            self.client.username_pw_set(user, password)
        if ca:
            self.client.tls_set(ca_certs=str(ca))
        self.client.connect("127.0.0.1", port)
        self.client.loop_start()
        until("subscribed", lambda: subscribed)

    def publish(self, topic, payload, qos=1, retain=False):
        self.client.publish(topic, payload, qos, retain)

    def latest(self, topic):
        found = [m.payload.decode() for m in list(self.messages) if m.topic == topic]
        return found[-1] if found else None

    def wait(self, topic, payload=None):
        """Waits for a message, and returns its payload."""
        right = lambda: (self.latest(topic) is not None) if payload is None else (self.latest(topic) == payload)
        until(f"{topic} {payload or ''}: {[(m.topic, m.payload[:80]) for m in self.messages[-20:]]}", right)
        return self.latest(topic)

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()


class Flood:
    """A client that only publishes, faster than paho does: `rate` messages a second over some topics."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        # Version 3.1.1, a clean session, no keep-alive.
        self.socket.sendall(b"\x10\x11\x00\x04MQTT\x04\x02\x00\x00\x00\x05flood")
        assert self.socket.recv(4) == b"\x20\x02\x00\x00"

    def send(self, topics, seconds, rate=10_000):
        """Each message has its number as its payload."""
        sent, begun = 0, time.monotonic()
        while sent < rate * seconds:
            messages = bytearray()
            for n in range(sent, sent + rate // 50):
                body = topics[n % len(topics)].encode()
                body = len(body).to_bytes(2, "big") + body + str(n).encode()
                messages += bytes([0x30, len(body)]) + body
            self.socket.sendall(messages)
            sent += rate // 50
            time.sleep(max(0, begun + sent / rate - time.monotonic()))
        return sent

    def close(self):
        self.socket.sendall(b"\xe0\x00")
        self.socket.close()
