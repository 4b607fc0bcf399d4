"""A home network without leaving this machine: a bridge and machines on it, each in namespaces of its own."""

import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "busconfig.dtd">
<busconfig>
  <listen>unix:path={bus}</listen>
  <auth>ANONYMOUS</auth><auth>EXTERNAL</auth><allow_anonymous/>
  <policy context="default">
    <allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
  </policy>
</busconfig>
"""
AVAHI = """[server]
host-name={name}
use-ipv4=yes
use-ipv6=yes
enable-dbus=yes
[publish]
publish-workstation=no
publish-hinfo=no
[wide-area]
enable-wide-area=no
"""


def until(what, true, seconds=15):
    """Waits until `true()` is, and returns it."""
    end = time.monotonic() + seconds
    while True:
        result = true()
        if result:
            return result
        assert time.monotonic() < end, f"{seconds} s were not enough: {what}"
        time.sleep(0.05)


class Namespaces:
    """A process that holds network, mount and host name namespaces."""

    def __init__(self, outer, extra, script):
        self.process = subprocess.Popen(
            [*outer, "unshare", *extra, "sh", "-c", f"{script} && echo ready && exec sleep infinity"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if self.process.stdout.readline() != "ready\n":
            self.process.kill()
            raise RuntimeError(self.process.stderr.read().strip())
        self.user = [] if os.getuid() == 0 else ["-U", "--preserve-credentials"]
        self.enter = ["nsenter", "-t", str(self.process.pid), "-n", "-m", "-u", *self.user]

    def run(self, *command, **options):
        done = subprocess.run([*self.enter, *command], capture_output=True, text=True, **options)
        assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stderr[-2000:]}"
        return done.stdout

    def start(self, *command, **options):
        return subprocess.Popen([*self.enter, *command], text=True, **options)

    def close(self):
        self.process.kill()
        self.process.wait()


class Lan:
    """The bridge that joins the machines. Nothing outside is reached from here."""

    def __init__(self, folder):
        user = [] if os.getuid() == 0 else ["-U", "-r"]
        try:
            self.bridge = Namespaces(
                [], [*user, "-n", "-m", "-u"], "ip link set lo up && ip link add lan type bridge && ip link set lan up"
            )
        except (RuntimeError, FileNotFoundError) as error:
            raise AssertionError(
                f"this test needs network namespaces of its own: run it as root, or allow user namespaces ({error})"
            ) from None
        self.folder = folder
        self.machines = []

    def machine(self, name, *addresses):
        made = Machine(self, name)
        self.machines.append(made)
        made.plug("eth0", *addresses)
        return made

    def close(self):
        for machine in self.machines:
            machine.close()
        self.bridge.close()


class Machine(Namespaces):
    """A machine of the network, with a /run and a host name of its own."""

    def __init__(self, lan, name):
        script = f"hostname {name} && ip link set lo up && mount -t tmpfs tmpfs /run"
        super().__init__(lan.bridge.enter, ["-n", "-m", "-u"], script)
        self.lan, self.name, self.running, self.plugged = lan, name, [], 0
        self.folder = lan.folder / f"{name}-{self.process.pid}"
        self.folder.mkdir()

    def plug(self, interface, *addresses):
        """A cable from an interface of this machine to the bridge."""
        self.plugged += 1
        end = f"m{self.process.pid}.{self.plugged}"
        self.lan.bridge.run(
            "ip", "link", "add", end, "type", "veth", "peer", "name", interface, "netns", str(self.process.pid)
        )
        self.lan.bridge.run("ip", "link", "set", end, "master", "lan", "up")
        self.run("ip", "link", "set", interface, "up")
        for address in addresses:
            self.run("ip", "address", "add", f"{address}/24", "dev", interface)

    def join(self, joined):
        """Takes the first cable out of the bridge, or puts it back; the machine itself does not notice."""
        where = ["master", "lan"] if joined else ["nomaster"]
        self.lan.bridge.run("ip", "link", "set", f"m{self.process.pid}.1", *where)

    def background(self, *command, **options):
        process = self.start(*command, **options)
        self.running.append(process)
        return process

    def peer(self):
        return Peer(self)

    def avahi(self, name):
        """A real avahi-daemon with a bus of its own. Returns a function that runs avahi's commands."""
        bus, conf = self.folder / "bus", self.folder / "avahi.conf"
        # It wants to be the owner of its folder, and here there may be one user only.
        for file, text in [("passwd", "root:x:0:0::/:/bin/sh\navahi:x:0:0::/:/bin/sh\n"), ("group", "root:x:0:\navahi:x:0:\n")]:
            (self.folder / file).write_text(text)
            self.run("mount", "--bind", self.folder / file, f"/etc/{file}")
        (self.folder / "bus.conf").write_text(BUS.format(bus=bus))
        conf.write_text(AVAHI.format(name=name))
        env = {"PATH": os.environ["PATH"] + ":/usr/sbin", "DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={bus}", "LC_ALL": "C.UTF-8"}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": open(self.folder / "log", "w")}
        self.background("dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork", "--nopidfile", **quiet)
        until("a bus", bus.exists)
        self.background("avahi-daemon", "--no-drop-root", "--no-chroot", "--no-rlimits", "-f", conf, env=env, **quiet)

        def ask(*command):
            done = subprocess.run([*self.enter, *command], env=env, capture_output=True, text=True, timeout=30)
            return done.stdout

        log = self.folder / "log"
        until("an avahi-daemon", lambda: "Server startup complete" in log.read_text(), 20)
        return ask

    def hob(self, name, *args, listen="0.0.0.0:4620"):
        return Hob(self, name, *args, listen=listen)

    def python(self, code):
        """Runs a line of Python here, and returns what it prints."""
        return self.run(sys.executable, "-c", code)

    def close(self):
        for process in reversed(self.running):
            process.kill()
            process.wait()
        super().close()


class Hob:
    """The daemon on a machine."""

    def __init__(self, machine, name, *args, listen):
        self.machine, self.session = machine, None
        self.data = machine.folder / f"hob-{len(machine.running)}"
        env = {"PATH": os.environ["PATH"], "HOB_LOG": "info"}
        self.log = open(machine.folder / f"log-{len(machine.running)}", "w+")
        command = [os.environ["HOB_BIN"], "serve", "--data", self.data, "--board", "sim"]
        args = [*args, "--name", name] if name else args
        self.process = machine.background(
            *command, "--listen", listen, *args, env=env, stdout=subprocess.PIPE, stderr=self.log
        )
        assert self.process.stdout.readline().startswith("hob ready"), self.said()

    def said(self):
        return pathlib.Path(self.log.name).read_text()

    def owned(self, method, path, body=None):
        """What the API answers its owner, on its own machine. The first call claims the device."""
        if not self.session:
            link = until("a claim link", lambda: self.said().partition("#claim=")[2].split())[0]
            self.session = self.request("POST", "/api/v1/claim", {"code": link, "person": "Marta"}, {})
        answer = self.request(method, path, body, self.session["headers"])
        assert answer["body"]["success"], answer
        return answer["body"]["data"]

    def request(self, method, path, body, headers):
        code = """
import httpx, json, sys
method, path, body, headers = json.load(sys.stdin)
answer = httpx.request(method, "http://127.0.0.1:4620" + path, json=body, headers=headers, timeout=20)
data, cookie = answer.json(), "; ".join(f"{k}={v}" for k, v in answer.cookies.items())
token = (data.get("data") or {}).get("csrfToken")
print(json.dumps({"body": data, "headers": {"cookie": cookie, "x-csrf-token": token} if token else None}))
"""
        asked = json.dumps([method, path, body, headers])
        return json.loads(self.machine.run(sys.executable, "-c", code, input=asked))

    def memory(self):
        """What it has in memory, in kB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    def stop(self, seconds=10):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(seconds) == 0, self.said()


class Peer:
    """Python's zeroconf on a machine: what it sees, and what it says itself. See peer.py."""

    def __init__(self, machine):
        self.process = machine.background(
            sys.executable, str(HERE / "peer.py"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.lines = queue.Queue()
        self.seen = {}
        threading.Thread(target=self.listen, daemon=True).start()
        until("zeroconf", lambda: self.seen.get("ready"))

    def listen(self):
        for line in self.process.stdout:
            heard = json.loads(line)
            self.seen[heard.pop("key")] = heard.get("value")

    def sees(self, what):
        """What zeroconf knows of a service now, such as `kitchen._hob._tcp`."""
        return self.seen.get(f"{what}.local.")

    def finds(self, what, seconds=15, **expected):
        """Waits until a service looks as expected."""

        def looks():
            service = self.sees(what)
            return service if service and all(service.get(k) == v for k, v in expected.items()) else None

        try:
            return until(f"{what} with {expected}", looks, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; zeroconf sees {json.dumps(self.seen, indent=1)}") from None

    def loses(self, what, seconds):
        until(f"{what} goes", lambda: self.sees(what) is None, seconds)

    def stop(self):
        """Takes back what was registered, and ends."""
        self.process.stdin.close()
        self.process.wait(10)

    def tell(self, **service):
        """Registers a service: kind, name, host, address, port, txt."""
        self.process.stdin.write(json.dumps(service) + "\n")
        self.process.stdin.flush()
        until(f"{service['name']} is registered", lambda: self.seen.get(f"told {service['name']}"))
