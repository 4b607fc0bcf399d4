"""Scenarios of updates: over HTTP only, from one version in a slot to the next, with everything that can go wrong."""

import contextlib
import hashlib
import http.client
import os
import random
import subprocess
import threading
import time

from bundles import head_of
from machine import BOOT, MIB, PATIENCE, ROOT, Failed

NOTE = "the spare key is under the blue pot"
# How often the power fails; more by CUTS=30.
CUTS = int(os.environ.get("CUTS", "8"))
# How long a version is tried in these tests, in seconds. It does nothing but wait for three checks.
WINDOW = 12
figures = {}


def check(what, found):
    if not found:
        raise Failed(f"this is not so: {what}")


def on_and_wait(machine):
    machine.on()
    return machine.wait_for_page()


def intact(machine):
    """The data are as they were left."""
    found = machine.data("POST", "/api/v1/tools/recall/execute", {"arguments": {"query": "spare key"}})
    check("what was remembered is there", NOTE in str(found))


def configure(machine, bundles, window=WINDOW):
    """The settings of the device, written to its data while it is off: whose bundles it takes."""
    machine.write_data("hob/hob.toml", f'[update]\nkeys = ["{bundles.public}"]\nwindow_seconds = {window}\n', 460)


def prepared(machine, make, window=WINDOW):
    """A machine that takes the bundles of these tests, switched on, and the bundles."""
    bundles = make()
    configure(machine, bundles, window)
    on_and_wait(machine)
    return bundles


def wait_for_state(machine, *states):
    """Waits until the update is in one of these states; returns what the device says."""

    def look():
        view = machine.update()
        return view if view["state"] in states and not view["restarting"] else None

    return machine.wait(f"the update is {' or '.join(states)}", look, PATIENCE)


def install(machine, bundle, piece=1 << 20):
    """Uploads what the device lacks, and has it installed."""
    upload = machine.upload(bundle, piece)
    machine.data("POST", "/api/v1/update/install", {"uploadId": upload["id"]})
    return upload


@contextlib.contextmanager
def applying(machine):
    """How much more memory Hob takes than before while a bundle is applied, until the machine restarts."""

    def memory():
        lines = machine.request("GET", "/metrics", tls=True)[1].splitlines()
        return next((float(line.split()[1]) for line in lines if line.startswith("process_resident_memory_bytes ")), None)

    def watch():
        while not done.wait(0.5):
            if (found := quietly(memory)) and len(machine.boots()) == 1:
                seen.append(found)

    done, seen, idle = threading.Event(), [], memory()
    # Its last question may wait long for an answer of a machine that restarts.
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()
    if seen:
        figures["memory of hob while applying, over idle"] = f"{(max(seen) - idle) / MIB:.1f} MB ({len(seen)} times asked)"


def other_slot(machine):
    """A digest of both partitions of slot B."""
    digest = hashlib.sha256()
    for at, length in ((BOOT["b"], 64), (ROOT["b"], 128)):
        digest.update(machine.get_bytes(at * MIB, length * MIB))
    return digest.hexdigest()


def update(machine, make):
    """Over HTTP: A, then B, which passes its checks and is kept; then back to A."""
    bundles = prepared(machine, make)
    view = machine.update()
    check(f"it runs A: {view}", view["kind"] == "uboot" and view["state"] == "idle" and view["running"]["slot"] == "a")
    bundle = bundles.bundle("line", "0.2.0", 2, base=bundles.bundle("image", "0.1.0", 1))
    before = other_slot(machine)
    for why, refused in [
        ("signed", bundles.bundle("small", "0.2.0", 2, key=bundles.new_key("stranger"))),
        ("boards", bundles.bundle("small", "0.2.0", 2, board="rpi")),
    ]:
        status, answer = machine.request("POST", "/api/v1/update/uploads", head_of(refused), tls=True)
        check(f"it is refused ({why}): {status} {answer}", status == 422 and why in str(answer))
    check("not a byte of slot B has changed", before == other_slot(machine) and machine.update()["state"] == "idle")
    began = time.monotonic()
    with applying(machine):
        upload = install(machine, bundle)
        machine.wait("it restarts", lambda: len(machine.boots()) > 1, PATIENCE)
    needed, total = upload["neededBytes"], upload["totalBytes"]
    head = len(head_of(bundle))
    figures["update by one line"] = f"{needed + head:,} bytes travel ({head:,} of them the head) of {total:,}: {100 * (needed + head) / total:.2f} %"
    machine.wait("B is tried", lambda: machine.boots()[-1:] == [("b", True)] and machine.request("GET", "/healthz")[0] == 200, PATIENCE)
    figures["upload, write, verify and restart"] = f"{time.monotonic() - began:.0f} s"
    view = wait_for_state(machine, "committed")
    check(f"B runs: {view}", view["running"] == {"slot": "b", "version": "0.2.0", "system": True} and view["floor"] == 2)
    check(f"it says so: {view}", view["lastOutcome"]["what"] == "committed" and view["canRollBack"])
    intact(machine)
    machine.cut()
    check("A is the way back", "active=b" in machine.read_card("slot.env") and "fallback=a" in machine.read_card("slot.env"))
    on_and_wait(machine)
    check(f"B stays: {machine.boots()}", machine.boots() == [("b", False)])
    check("the state lasts", machine.update()["state"] == "committed")
    status, answer = machine.request("POST", "/api/v1/update/uploads", head_of(bundles.bundle("image", "0.1.0", 1)), tls=True)
    check(f"an older one is refused: {status} {answer}", status == 422 and "older" in str(answer))
    machine.data("POST", "/api/v1/update/rollback", {})
    machine.wait("A runs again", machine.restarts(), PATIENCE)
    view = machine.update()
    check(f"A runs, and it says why: {view}", view["running"]["slot"] == "a" and view["lastOutcome"]["what"] == "rolled_back")
    check(f"U-Boot started A: {machine.boots()}", machine.boots()[-1] == ("a", False))
    intact(machine)


def update_not_confirmed(machine, make):
    """B is on trial when the power fails: A, with the reason; and B, never confirmed, does not help out when A breaks."""
    bundles = prepared(machine, make, window=3600)
    install(machine, bundles.bundle("line", "0.2.0", 2))
    view = wait_for_state(machine, "trying")
    check(f"B is tried: {view}", view["running"]["slot"] == "b" and not view["canInstall"])
    intact(machine)
    machine.cut()
    on_and_wait(machine)
    check(f"A is back: {machine.boots()}", machine.boots() == [("a", False)])
    fell_back(machine, "0.2.0", "power failed")
    machine.cut()
    check("B is no fallback", "fallback=b" not in machine.read_card("slot.env"))
    machine.put_bytes(ROOT["a"] * MIB, b"\0" * MIB)
    machine.on()
    machine.wait("A is started five times", lambda: len(machine.boots()) >= 5, PATIENCE)
    check(f"and nothing else: {machine.boots()}", set(machine.boots()) == {("a", False)})


def fell_back(machine, version, why):
    """A answers, has the data, and tells why it is not the new version."""
    view = machine.update()
    check(f"A runs: {view}", view["running"]["slot"] == "a" and view["state"] == "failed" and view["floor"] == 0)
    outcome = view["lastOutcome"]
    check(f"it says why: {outcome}", outcome["what"] == "failed" and outcome["version"] == version and why in outcome["why"])
    check("another can be installed", view["canInstall"])
    intact(machine)


def update_without_network(machine, make):
    """B starts without the network that A had: its checks fail, and it goes back to A by itself, with the reason."""
    bundles = prepared(machine, make)
    install(machine, bundles.bundle("alone", "0.2.0", 2))
    machine.wait("A answers after B", lambda: len(machine.boots()) >= 3 and machine.request("GET", "/healthz")[0] == 200, PATIENCE)
    check(f"B was tried, once: {machine.boots()}", machine.boots() == [("a", False), ("b", True), ("a", False)])
    fell_back(machine, "0.2.0", "the network is gone")


def update_that_is_dead(machine, make):
    """B's Hob ends at once: when it has not answered for three minutes, the machine restarts, and A tells."""
    bundles = prepared(machine, make)
    install(machine, bundles.bundle("dead", "0.2.0", 2))
    machine.wait("A answers after B", lambda: len(machine.boots()) >= 3 and machine.request("GET", "/healthz")[0] == 200, PATIENCE)
    check(f"B was tried, once: {machine.boots()}", machine.boots() == [("a", False), ("b", True), ("a", False)])
    fell_back(machine, "0.2.0", "did not start")


def make_stick(folder, bundle, name):
    """A USB stick with one partition, on which a bundle has this name."""
    part, stick = os.path.join(folder, "stick.part"), os.path.join(folder, "stick.img")
    subprocess.run(["truncate", "-s", "40M", part, stick], check=True)
    subprocess.run(["mkfs.vfat", "-F", "32", "-n", "STICK", part], check=True, capture_output=True)
    subprocess.run(["mcopy", "-i", part, bundle, "::" + name], check=True)
    table = "label: dos\nstart=1MiB, type=c\n"
    subprocess.run(["truncate", "-s", "41M", stick], check=True)
    subprocess.run(["sfdisk", "--quiet", stick], input=table, text=True, check=True)
    subprocess.run(["dd", f"if={part}", f"of={stick}", "bs=1M", "seek=1", "conv=notrunc", "status=none"], check=True)
    os.remove(part)
    return stick


def update_from_a_stick(machine, make):
    """A bundle on a USB stick is offered while the stick is in, and installed from it. It is none that starts: A, with the reason."""
    bundles = make()
    configure(machine, bundles)
    stick = make_stick(machine.folder, bundles.bundle("small", "0.2.0", 2), "Hob für Küche.hobupdate")
    with open(stick, "rb") as file:
        before = hashlib.sha256(file.read()).digest()
    machine.on(usb=True)
    machine.wait_for_page()
    offered = lambda: machine.update().get("found")
    check("nothing is found without a stick", not offered())
    machine.plug_in(stick)
    (found,) = machine.wait("what is on the stick is found", offered)
    check(f"it is offered: {found}", found["version"] == "0.2.0" and found["newer"] and not found.get("problem"))
    check(f"it says where: {found}", found["path"] == "/media/sda1/Hob für Küche.hobupdate")
    machine.data("POST", "/api/v1/update/install", {"foundId": found["id"]})
    machine.wait("A answers after B", lambda: len(machine.boots()) >= 3 and machine.request("GET", "/healthz")[0] == 200, PATIENCE)
    check(f"B was tried, once: {machine.boots()}", machine.boots() == [("a", False), ("b", True), ("a", False)])
    fell_back(machine, "0.2.0", "did not start")
    machine.wait("the stick is found after a restart", offered)
    machine.pull_out()
    machine.wait("it is gone", lambda: not offered())
    machine.cut()
    with open(stick, "rb") as file:
        check("nothing was written to the stick", hashlib.sha256(file.read()).digest() == before)


def update_power_cuts(machine, make):
    """The power fails at random moments of upload, write, restart, trial and commit."""
    seed = int(os.environ.get("SEED", time.time()))
    print(f"    SEED={seed}")
    chance = random.Random(seed)
    bundles = prepared(machine, make)
    floor, counts = 0, {}
    for number in range(CUTS):
        running = machine.update()["running"]
        serial = 2 + number
        version = f"0.{serial}.0"
        # What differs from what runs, so that something travels.
        name = "line" if running["version"] == "0.1.0" or bundles.held.get(running["version"]) == "image" else "image"
        bundle = bundles.bundle(name, version, serial)
        bundles.held[version] = name
        step = ("upload", "write", "restart", "trial", "commit")[number % 5]
        failing(machine, chance, step, bundle)
        machine.cut()
        text = machine.read_card("slot.env")
        check(f"slot.env is readable: {text}", text.startswith("active="))
        on_and_wait(machine)
        view = wait_for_state(machine, "idle", "writing", "staged", "committed", "failed")
        now = view["running"]["version"]
        about = f"cut {number} at {step}, of {version}: {view}"
        check(f"the one or the other runs: {about}", now in (running["version"], version))
        expected = {
            "committed": view["version"] == now,
            "failed": view["version"] != now and (view["lastOutcome"] or {}).get("what") == "failed",
            "writing": view["version"] == version and now == running["version"],
            "staged": view["version"] == version and now == running["version"],
            "idle": now == running["version"],
        }
        check(f"it tells the truth: {about}", expected[view["state"]])
        floor = serial if now == version else floor
        check(f"the floor rises with a commit only: {about}", view["floor"] == floor)
        check(f"that slot was started: {machine.boots()}", machine.boots()[-1][0] == view["running"]["slot"])
        intact(machine)
        os.remove(bundle)
        print(f"    cut {number + 1} at {step}: {view['state']}", flush=True)
        counts[f"{step}: {view['state']}"] = counts.get(f"{step}: {view['state']}", 0) + 1
    print(f"    {counts}")
    # It can be updated as ever.
    install(machine, bundles.bundle("line", "9.0.0", 100))
    machine.wait("the last one is committed", lambda: machine.update()["running"]["version"] == "9.0.0", PATIENCE)
    check("it is kept", wait_for_state(machine, "committed")["version"] == "9.0.0")
    intact(machine)


def failing(machine, chance, step, bundle):
    """Installs a bundle until a random moment of a step."""
    if step == "upload":
        # The upload goes on while the power fails.
        thread = threading.Thread(target=quietly, args=(install, machine, bundle, 4096))
        thread.start()
        time.sleep(chance.uniform(0.2, 4))
        machine.cut()
        thread.join()
        return
    install(machine, bundle)
    boots = len(machine.boots())
    if step == "write":
        time.sleep(chance.uniform(0, 6))
        return
    machine.wait("it restarts", lambda: quietly(machine.update) is None or len(machine.boots()) > boots or machine.update()["restarting"], PATIENCE)
    if step == "restart":
        time.sleep(chance.uniform(0, 15))
        return
    machine.wait("the new one is tried", lambda: len(machine.boots()) > boots and machine.update()["state"] in ("trying", "committed"), PATIENCE)
    if step == "trial":
        time.sleep(chance.uniform(0, WINDOW * 0.9))
        return
    machine.wait("two checks passed", lambda: (view := machine.update())["state"] == "committed" or view["progress"]["done"] >= 2, PATIENCE)
    time.sleep(chance.uniform(0, WINDOW / 3 + 1))


def quietly(work, *arguments):
    """What it returns, or None: the power may fail at any moment of it."""
    try:
        return work(*arguments)
    except (OSError, http.client.HTTPException, Failed):
        return None


def of(make):
    """The scenarios, given what makes the bundles."""
    for scenario in (update, update_not_confirmed, update_without_network, update_that_is_dead, update_from_a_stick, update_power_cuts):

        def play(machine, scenario=scenario):
            scenario(machine, make)

        play.__name__, play.__doc__ = scenario.__name__, scenario.__doc__
        yield play
