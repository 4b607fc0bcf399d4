"""The programs that are measured: Hob, the parts of it that are measured from inside, and the Python with the peers."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
OUT = TARGET / "bench"
HOB = Path(os.environ.get("HOB_BIN", TARGET / "release" / "hob"))


def build():
    """The binary, and the parts that are measured from inside: same profile, same lock."""
    if "HOB_BIN" not in os.environ:
        subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=ROOT, check=True)
    if not HOB.exists():
        raise SystemExit(f"there is no {HOB}")


def parts():
    """The program `bench`. Its lock starts as Hob's, so that both are made of the same dependencies."""
    root = tomllib.loads((ROOT / "Cargo.toml").read_text())
    profile, members = root["profile"]["release"], root["workspace"]["members"]
    # What the profile says of "*" is meant for others' crates. Seen from here ours are others' too.
    for name in [Path(member).name for member in members]:
        profile["package"].setdefault(name, {"opt-level": profile["opt-level"]})
    settings = [word for key, value in flat(profile) for word in ("--config", f"profile.release.{key}={json.dumps(value)}")]
    shutil.copy(ROOT / "Cargo.lock", HERE / "Cargo.lock")
    line = ["cargo", "build", "--release", "--quiet", "--target-dir", str(TARGET), *settings]
    subprocess.run(line, cwd=HERE, check=True)
    return TARGET / "release" / "bench"


def flat(table, before=""):
    for key, value in table.items():
        key = before + (key if key.replace("-", "").replace("_", "").isalnum() else json.dumps(key))
        if isinstance(value, dict):
            yield from flat(value, key + ".")
        else:
            yield key, value


def peers():
    """The Python with onnxruntime, APScheduler and nanobot in it."""
    home, wanted = OUT / "venv", (HERE / "requirements.txt").read_text()
    stamp = home / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        print("installing the peers of embedding, scheduler and turns", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        pip = [home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", HERE / "requirements.txt"], check=True)
        stamp.write_text(wanted)
    return home / "bin" / "python"


def line(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)
