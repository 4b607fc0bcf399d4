"""Versions to update to: systems made from the same packages with changed files, as signed bundles. IMAGE_BUNDLES=FOLDER keeps
them for the next run over the same image."""

import os
import shutil
import struct
import subprocess

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(TREE, "target"))
# A Hob that runs here makes the bundles.
HOB = os.environ.get("HOB_HERE", os.path.join(TARGET, "debug/hob"))
# The files in which each system differs from the image: name, text, mode.
CHANGES = {
    # One line.
    "line": {"etc/hob/edition": ("edition = 2\n", 0o644)},
    # One whose Hob ends at once.
    "dead": {"usr/bin/hob": ("#!/bin/sh\nexit 1\n", 0o755)},
    # One that has lost the network.
    "alone": {"etc/hob/network": ("#!/bin/sh\nwhile :; do sleep 60; done\n", 0o755)},
}


def head_of(bundle):
    """The first bytes of a bundle, which are sent first: magic, three lengths, and what they count."""
    with open(bundle, "rb") as file:
        prefix = file.read(20)
        return prefix + file.read(sum(struct.unpack("<3I", prefix[8:])))


class Bundles:
    """Keys, systems and bundles in a folder."""

    def __init__(self, board, folder, image, program):
        self.board, self.folder, self.image, self.program = board, folder, image, program
        # What is in a version.
        self.held = {}
        os.makedirs(folder, exist_ok=True)
        self.key = self.new_key("test")
        with open(os.path.join(folder, "test.pub")) as file:
            self.public = file.read().split()[-1]

    def new_key(self, name):
        key = os.path.join(self.folder, f"{name}.key")
        if not os.path.exists(key):
            self.hob("keygen", os.path.join(self.folder, name), "--no-password")
        return key

    def hob(self, *words):
        done = subprocess.run([HOB, "bundle", *words], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"hob bundle {words[0]}: {done.stderr}")
        return done.stdout

    def system(self, name):
        """The folder with boot.img and root.img of a system; `image` is the one that is on the card."""
        if name == "image":
            return self.image
        out = os.path.join(self.folder, name)
        if name == "small":
            # None that starts: for bundles that are refused by their heads.
            os.makedirs(out, exist_ok=True)
            for image in ("boot.img", "root.img"):
                with open(os.path.join(out, image), "wb") as file:
                    file.write(bytes(65536))
        elif not os.path.exists(out):
            over = os.path.join(self.folder, f"{name}.over")
            for path, (text, mode) in CHANGES[name].items():
                file = os.path.join(over, path)
                os.makedirs(os.path.dirname(file), exist_ok=True)
                with open(file, "w") as new:
                    new.write(text)
                os.chmod(file, mode)
            made = f"{out}.part"
            environment = os.environ | {"IMAGE_OVER": over, "IMAGE_OUT": made, "FAST": "1"}
            done = subprocess.run(
                [os.path.join(TREE, "firmware-image/build"), self.board, self.program],
                env=environment, capture_output=True, text=True,
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(f"the system `{name}` could not be built: {done.stdout}{done.stderr}")
            shutil.rmtree(os.path.join(made, "work"))
            os.remove(os.path.join(made, "hob.img"))
            os.rename(made, out)
        return out

    def bundle(self, name, version, serial, key=None, board=None, base=None):
        """The file of a bundle of a system."""
        out = os.path.join(self.folder, f"{name}-{version}-{serial}-{os.path.basename(key or self.key)}-{board}.hobupdate")
        if not os.path.exists(out):
            system = self.system(name)
            words = ["build", "--out", out, "--key", key or self.key, "--version", version, "--serial", str(serial)]
            words += ["--target", "aarch64-linux", "--board", board or self.board]
            words += ["--boot", os.path.join(system, "boot.img"), "--root", os.path.join(system, "root.img")]
            words += ["--from", base] if base else []
            words += ["--compression", "fast"]
            self.hob(*words)
        return out
