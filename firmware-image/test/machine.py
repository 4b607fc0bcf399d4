"""A machine in the emulator with the image on its disk: switched on, off, and talked to over HTTP only."""

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import time

from bundles import head_of

# Where partitions begin, in MiB, as in firmware-image/build.
SELECTOR, BOOT, ROOT, DATA = 1, {"a": 65, "b": 129}, {"a": 194, "b": 323}, 452
MIB = 1 << 20
# Forty times what a boot takes on an idle machine: an emulator may wait long for its processor.
PATIENCE = int(os.environ.get("PATIENCE", "900"))


class Failed(Exception):
    """What did not happen, and the end of the console."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Machine:
    """`image` is copied, so that a test may do with it what it likes."""

    def __init__(self, image, folder, board="qemu-virt", size="2G", out=None):
        self.board, self.folder, self.out = board, folder, out
        self.disk = os.path.join(folder, "disk.img")
        self.console = os.path.join(folder, "console.log")
        self.control = os.path.join(folder, "control")
        subprocess.run(["cp", "--sparse=always", image, self.disk], check=True)
        subprocess.run(["truncate", "-s", size, self.disk], check=True)
        self.http, self.tls = free_port(), free_port()
        self.process = None
        if board == "rpi":
            # QEMU resets a Pi at once when its watchdog is started, however often that is fed: this kernel does without. And the
            # console tells of the USB: see plug_in_network.
            self.set_on_command_line("loglevel=4", "loglevel=7 module_blacklist=bcm2835_wdt")
        self.cookie = self.csrf = self.token = None

    # The machine.

    def command(self, cable, usb):
        network = f"user,id=n0,hostfwd=tcp:127.0.0.1:{self.http}-:80,hostfwd=tcp:127.0.0.1:{self.tls}-:4621"
        if self.board == "rpi":
            debian = os.path.join(self.out, "debian/usr/lib")
            (tree,) = [os.path.join(debian, f) for f in os.listdir(debian) if f.startswith("linux-image")]
            return [
                "qemu-system-aarch64", "-M", "raspi3b",
                "-kernel", f"{debian}/u-boot/rpi_arm64/u-boot.bin",
                "-dtb", f"{tree}/broadcom/bcm2837-rpi-3-b.dtb",
                "-drive", f"file={self.disk},if=sd,format=raw",
                "-netdev", network, "-qmp", f"unix:{self.control},server=on,wait=off",
                "-display", "none", "-monitor", "none", "-serial", "null", "-serial", f"file:{self.console}",
            ]  # fmt: skip
        return [
            "qemu-system-aarch64", "-M", "virt,acpi=off", "-cpu", "cortex-a53", "-smp", "2", "-m", "512",
            "-bios", "/usr/lib/u-boot/qemu_arm64/u-boot.bin",
            "-drive", f"if=none,id=d0,file={self.disk},format=raw,cache=writeback",
            "-device", "virtio-blk-pci,drive=d0",
            *(["-netdev", network, "-device", "virtio-net-pci,netdev=n0,romfile="] if cable else ["-nic", "none"]),
            "-device", "virtio-rng-pci",
            "-device", "i6300esb", "-action", "watchdog=reset",
            *(["-device", "qemu-xhci,id=usb", "-qmp", f"unix:{self.control},server=on,wait=off"] if usb else []),
            "-display", "none", "-monitor", "none", "-serial", f"file:{self.console}",
        ]  # fmt: skip

    def on(self, cable=True, usb=False):
        assert self.process is None
        open(self.console, "w").close()
        self.process = subprocess.Popen(self.command(cable, usb))
        self.began = time.monotonic()

    def cut(self):
        """The power fails."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def tell(self, command, **arguments):
        """A command to the emulator, of a machine with USB."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.control)
            with connection.makefile("rw") as lines:
                lines.readline()
                for words in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}):
                    lines.write(json.dumps(words) + "\n")
                    lines.flush()
                    while "event" in (answer := json.loads(lines.readline())):
                        pass
                    if "error" in answer:
                        raise Failed(f"{command}: {answer['error']}")

    def plug_in(self, stick):
        """A USB stick with this content."""
        self.tell("blockdev-add", **{"node-name": "stick", "driver": "raw", "file": {"driver": "file", "filename": stick}})
        self.tell("device_add", driver="usb-storage", id="stick", drive="stick", bus="usb.0")

    def pull_out(self):
        self.tell("device_del", id="stick")

    def plug_in_network(self):
        """The Pi's network is at its USB. The emulated port tells that something is plugged in when it is, and not again when it is
        powered anew: U-Boot would be told, and Linux not."""
        self.wait("Linux has found the USB", lambda: "1-0:1.0: 1 port detected" in self.console_text())
        self.tell("device_add", driver="usb-net", id="network", netdev="n0")
        self.wait("Linux has found the network", lambda: "usb0: register" in self.console_text() or "eth0: register" in self.console_text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut()

    def console_text(self):
        with open(self.console, errors="replace") as log:
            return log.read()

    def boots(self):
        """What U-Boot chose since the machine was switched on, as [(slot, tried)]."""
        lines = [line for line in self.console_text().splitlines() if line.startswith("hob: slot ")]
        return [(line.split()[2].rstrip(","), line.split("=")[1].strip() == "1") for line in lines]

    def wait(self, what, look, seconds=PATIENCE):
        """Waits until `look` gives something true, and returns it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process and self.process.poll() is not None:
                raise Failed(f"the emulator ended with {self.process.returncode} before {what}")
            try:
                if found := look():
                    return found
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.2)
        raise Failed(f"not within {seconds} s: {what}\n" + "\n".join(self.console_text().splitlines()[-25:]))

    def wait_for_page(self):
        """Waits until hob answers; returns how many seconds after power-on."""
        if self.board == "rpi":
            self.plug_in_network()
        self.wait("hob answers", lambda: self.request("GET", "/healthz")[0] == 200)
        return time.monotonic() - self.began

    def restarts(self, count=1):
        """A function that is true once the machine has booted `count` more times than now and answers."""
        boots = len(self.boots()) + count
        return lambda: len(self.boots()) >= boots and self.request("GET", "/healthz")[0] == 200

    # HTTP.

    @staticmethod
    def connect(connection):
        """Connects. Hob gives a handshake 10 s, which is not always enough for an emulator on a busy machine."""
        for attempt in range(3):
            try:
                return connection.connect()
            except ConnectionResetError:
                if attempt == 2:
                    raise

    def request(self, method, path, body=None, tls=False, raw=False, headers=None):
        """One request; returns status and decoded body."""
        if tls:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            connection = http.client.HTTPSConnection("127.0.0.1", self.tls, timeout=PATIENCE, context=context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=PATIENCE)
        headers = dict(headers or {})
        if self.cookie and tls:
            headers |= {"Cookie": self.cookie, "X-CSRF-Token": self.csrf}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if isinstance(body, bytes):
            headers["Content-Type"] = "application/octet-stream"
        elif body is not None:
            body, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        try:
            self.connect(connection)
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
            self.last_headers = answer.headers
            return answer.status, text if raw else (json.loads(text) if text[:1] in b"{[" else text.decode())
        finally:
            connection.close()

    def data(self, method, path, body=None, **options):
        """As `request`, over TLS; returns `data` of a successful answer."""
        status, answer = self.request(method, path, body, tls=True, **options)
        if not 200 <= status < 300:
            raise Failed(f"{method} {path} gave {status}: {answer}")
        return answer["data"]

    def claim(self, code):
        session = self.data("POST", "/api/v1/claim", {"code": code, "person": "Ada"})
        self.cookie = "; ".join(c.split(";")[0] for c in self.last_headers.get_all("Set-Cookie"))
        self.csrf = session["csrfToken"]
        self.token = self.data("POST", "/api/v1/tokens", {"name": "test", "role": "admin"})["token"]
        self.cookie = None

    def chat(self, text):
        return self.data("POST", "/api/v1/chat", {"message": text})["response"]

    def update(self):
        return self.data("GET", "/api/v1/update")

    def upload(self, bundle, piece=1 << 20):
        """Sends the head of a bundle, and the ranges of it that the device asks for; returns what it asked for."""
        upload = self.data("POST", "/api/v1/update/uploads", head_of(bundle))
        with open(bundle, "rb") as file:
            for needed in upload["needed"]:
                at, end = needed["offset"], needed["offset"] + needed["length"]
                while at < end:
                    file.seek(at)
                    content = file.read(min(piece, end - at))
                    self.data("PUT", f"/api/v1/update/uploads/{upload['id']}?offset={at}", content)
                    at += len(content)
        return upload

    # The card in another computer: only while the machine is off.

    def at(self, mib):
        return f"{self.disk}@@{mib * MIB}"

    def read_card(self, name, mib=SELECTOR):
        assert self.process is None
        found = subprocess.run(["mtype", "-i", self.at(mib), f"::{name}"], capture_output=True)
        return found.stdout.decode(errors="replace") if found.returncode == 0 else None

    def peek_card(self, name):
        """A file of the card while the machine may be writing it; None if there is none."""
        found = subprocess.run(["mtype", "-i", self.at(SELECTOR), f"::{name}"], capture_output=True)
        return found.stdout if found.returncode == 0 else None

    def wait_for_card(self, name):
        """Waits until a file is on the card, and takes that out."""
        self.wait(f"{name} is on the card", lambda: (self.peek_card(name) or b"").strip(b"\0\r\n "))
        self.cut()
        return self.read_card(name)

    def write_card(self, name, content, mib=SELECTOR):
        assert self.process is None
        file = os.path.join(self.folder, "card-file")
        with open(file, "wb") as out:
            out.write(content if isinstance(content, bytes) else content.encode())
        subprocess.run(["mcopy", "-o", "-i", self.at(mib), file, f"::{name}"], check=True)

    def delete_from_card(self, name, mib=SELECTOR):
        assert self.process is None
        subprocess.run(["mdel", "-i", self.at(mib), f"::{name}"], check=True)

    def write_data(self, name, content, owner):
        """A file of the data partition, as a computer that reads ext4 would write it."""
        assert self.process is None
        disk = f"{self.disk}?offset={DATA * MIB}"
        # The power may have failed: what is in its journal comes first.
        subprocess.run(["e2fsck", "-fy", disk], capture_output=True, check=False)
        file = os.path.join(self.folder, "data-file")
        with open(file, "w") as out:
            out.write(content)
        commands = f"rm {name}\nwrite {file} {name}\nsif {name} uid {owner}\nsif {name} gid {owner}\nsif {name} mode 0100600\n"
        subprocess.run(["debugfs", "-w", "-f", "-", disk], input=commands, text=True, capture_output=True, check=True)
        subprocess.run(["e2fsck", "-fn", disk], capture_output=True, check=True)

    def read_bytes(self, name, mib):
        file = os.path.join(self.folder, "card-file")
        subprocess.run(["mcopy", "-n", "-o", "-i", self.at(mib), f"::{name}", file], check=True)
        with open(file, "rb") as found:
            return found.read()

    def set_on_command_line(self, old, new):
        """Other words for the kernel, in U-Boot's script on the card: its text comes after a header and a table of lengths."""
        file, text = (os.path.join(self.folder, name) for name in ("boot.scr", "boot.cmd"))
        with open(text, "wb") as out:
            out.write(self.read_bytes("boot.scr", SELECTOR)[72:].replace(old.encode(), new.encode()))
        subprocess.run(["mkimage", "-A", "arm64", "-T", "script", "-C", "none", "-d", text, file], check=True, capture_output=True)
        with open(file, "rb") as script:
            self.write_card("boot.scr", script.read())

    def put_bytes(self, offset, content):
        assert self.process is None
        with open(self.disk, "r+b") as disk:
            disk.seek(offset)
            disk.write(content)

    def get_bytes(self, offset, length):
        with open(self.disk, "rb") as disk:
            disk.seek(offset)
            return disk.read(length)

    def save(self):
        """Remembers the disk as it is, and who is known on it; `back` brings it back."""
        assert self.process is None
        self.saved_token = self.token
        subprocess.run(["cp", "--sparse=always", self.disk, self.disk + ".saved"], check=True)

    def back(self):
        self.cut()
        self.token = self.saved_token
        subprocess.run(["cp", "--sparse=always", self.disk + ".saved", self.disk], check=True)


def cpio(files):
    """A cpio archive, newc, of `files` {name: (mode, bytes)}."""
    out = b""
    for number, (name, (mode, data)) in enumerate([*files.items(), ("TRAILER!!!", (0, b""))]):
        fields = [number + 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
        out += b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
        out += b"\0" * (-len(out) % 4) + data
        out += b"\0" * (-len(out) % 4)
    return out + b"\0" * (-len(out) % 512)
