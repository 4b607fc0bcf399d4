"""A real Home Assistant finds Hob by MQTT discovery through a real mosquitto, and switches its pins."""

import asyncio
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from broker import Broker
from conftest import TOKEN


def until(what, check, patience=60):
    end = time.monotonic() + patience
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < end, what
        time.sleep(0.05)


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    broker = Broker(tmp_path_factory.mktemp("broker"))
    yield broker
    broker.stop()


def rest(home, method, path, body=None):
    return asyncio.run(home.rest(method, path, body))


def entities(home):
    """The entities of Hob that Home Assistant lists, by the end of their unique ids."""
    [all] = asyncio.run(home.ws({"type": "config/entity_registry/list"}))
    ours = [e for e in all if e["platform"] == "mqtt" and e["unique_id"].startswith("hob_")]
    return {e["unique_id"].split("_", 2)[2]: e["entity_id"] for e in ours}


def state(home, entity):
    return rest(home, "GET", f"/api/states/{entity}")["state"]


def attributes(home, entity):
    return rest(home, "GET", f"/api/states/{entity}")["attributes"]


def act(home, entity, service):
    rest(home, "POST", f"/api/services/{entity.split('.')[0]}/{service}", {"entity_id": entity})


def make_rule(hob, name, actions, trigger=None):
    """A rule, and the keys of its switch and its button."""
    triggers = [trigger or {"type": "event", "topic": "custom:never"}]
    key = "rule_" + hob.call("create_rule", name=name, triggers=triggers, actions=actions, mode="queued")["id"]
    return key.removeprefix("rule_"), key, f"{key}_run"


def is_high(hob, pin):
    return hob.call("gpio_read", pin=pin)["high"]


@pytest.fixture(scope="module")
def joined(home, hob, broker):
    hob.call("name_pin", pin=17, name="Hall lamp")
    hob.call("name_pin", pin=4, name="Garden door", sensor=True)
    hob.call("config_set_entry", service="mqtt", fields={"host": "127.0.0.1", "port": broker.port})
    flow = rest(home, "POST", "/api/config/config_entries/flow", {"handler": "mqtt"})
    done = rest(home, "POST", f"/api/config/config_entries/flow/{flow['flow_id']}", {"broker": "127.0.0.1", "port": broker.port})
    assert done["type"] == "create_entry", done
    until("Hob's entities", lambda: {"pin_17", "pin_4", "update"} <= set(entities(home)))
    return home


def test_home_assistant_lists_hob_as_one_device(joined, hob):
    found = entities(joined)
    assert found["pin_17"].split(".")[0] in ("switch", "light") and found["pin_4"].startswith("binary_sensor.")
    assert found["press_4"].startswith("event.") and found["update"].startswith("update.")
    assert {"cpu_temperature", "disk_free", "memory_available"} <= set(found)
    [devices] = asyncio.run(joined.ws({"type": "config/device_registry/list"}))
    device = [d for d in devices if d["manufacturer"] == "Hob"]
    assert len(device) == 1 and device[0]["sw_version"]
    until("a reading", lambda: state(joined, found["disk_free"]).replace(".", "").isdigit())
    log = (pathlib.Path(joined.folder) / "ha.log").read_text()
    assert "hob_" not in log, log[-3000:]


def test_the_version_is_an_update_entity(joined, hob):
    update = entities(joined)["update"]
    until("its state", lambda: state(joined, update) == "off")
    shown = attributes(joined, update)
    assert shown["installed_version"] and shown["latest_version"] == shown["installed_version"], shown
    assert shown["in_progress"] is False and shown["title"] == "Hob", shown
    # It installs nothing: a person does, at the page or the command line.
    assert shown["supported_features"] & 1 == 0, shown


class Slots:
    """A second Hob, which can be updated: the version of each slot is a script that starts the same program."""

    def __init__(self, folder):
        self.folder, self.hob = folder, os.environ["HOB_BIN"]
        slot = folder / "root/slots/a"
        slot.mkdir(parents=True)
        self.program(slot / "hob", "0.1.0")
        (slot / "manifest.json").write_text('{"version": "0.1.0", "serial": 0}')
        self.cli("bundle", "keygen", "--no-password", folder / "release")
        key = [line for line in (folder / "release.pub").read_text().splitlines() if line][-1]
        (folder / "test.toml").write_text(f'[limits]\ncalls = 0\n[update]\nkeys = ["{key}"]\nwindow_seconds = 600\n')
        command = [self.hob, "supervise", "--root", folder / "root", "--data", folder / "data", "--config", folder / "test.toml", "--",
                   "--board", "sim", "--listen", "127.0.0.1:0", "--no-mdns", "--name", "attic"]
        env = {"PATH": os.environ["PATH"], "HOB_TOKEN": TOKEN, "HOB_LOG": "info"}
        self.urls = []
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=open(folder / "log", "w"), text=True)
        threading.Thread(target=self.read, daemon=True).start()
        self.ready(1)

    def program(self, path, version):
        # Noise, so that a bundle is more than its head.
        noise = "".join(f"# {random.Random(version).getrandbits(256):x}{n}\n" for n in range(3000))
        path.write_text(f'#!/bin/sh\nexec {self.hob} "$@"\n{noise}')
        path.chmod(0o755)

    def read(self):
        for line in self.process.stdout:
            if line.startswith("hob ready "):
                self.urls.append(line.split()[-1].rstrip("/"))

    def ready(self, count):
        until(f"start {count}: {(self.folder / 'log').read_text()[-2000:]}", lambda: len(self.urls) >= count)

    def cli(self, *arguments):
        return subprocess.run([self.hob, *arguments, "--data", self.folder / "data"], check=True, capture_output=True, text=True)

    def request(self, method, path, body, kind="application/json"):
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": kind}
        with urllib.request.urlopen(urllib.request.Request(self.urls[-1] + path, body, headers, method=method), timeout=60) as answer:
            return json.loads(answer.read())["data"]

    def bundle(self, version, serial):
        made = self.folder / "bundle"
        self.program(self.folder / "app", version)
        self.cli("bundle", "build", "--out", made, "--key", self.folder / "release.key", "--version", version, "--serial", str(serial),
                 "--app", self.folder / "app", "--compression", "fast")
        return made

    def stop(self):
        self.process.terminate()
        assert self.process.wait(30) == 0, (self.folder / "log").read_text()[-3000:]


@pytest.fixture
def slots(tmp_path):
    made = Slots(tmp_path)
    yield made
    made.stop()


def test_home_assistant_follows_an_update(joined, broker, slots):
    def set_up(**more):
        fields = {"host": "127.0.0.1", "port": broker.port, **more}
        arguments = json.dumps({"arguments": {"service": "mqtt", "fields": fields}}).encode()
        slots.request("POST", "/api/v1/tools/config_set_entry/execute", arguments)

    set_up()

    def entity():
        [all] = asyncio.run(joined.ws({"type": "config/entity_registry/list"}))
        [devices] = asyncio.run(joined.ws({"type": "config/device_registry/list"}))
        attic = [d["id"] for d in devices if d["name"] == "attic"]
        return next((e["entity_id"] for e in all if e["device_id"] in attic and e["entity_id"].startswith("update.")), None)

    update = until("the entity", entity)

    def shows(what, installed, latest, in_progress, on):
        def look():
            shown = attributes(joined, update)
            right = (shown.get("installed_version"), shown.get("latest_version"), shown.get("in_progress")) == (installed, latest, in_progress)
            return right and state(joined, update) == on

        until(what, look)

    shows("the version that runs", "0.1.0", "0.1.0", False, "off")
    # An upload has begun: its head says which version it is.
    bundle = slots.bundle("0.2.0", 2)
    whole = bundle.read_bytes()
    lengths = [int.from_bytes(whole[at:at + 4], "little") for at in range(8, 20, 4)]
    slots.request("POST", "/api/v1/update/uploads", whole[:20 + sum(lengths)], "application/octet-stream")
    shows("what is being written", "0.1.0", "0.2.0", True, "on")
    slots.cli("update", "install", bundle, "--no-wait")
    slots.ready(2)
    shows("the trial", "0.2.0", "0.2.0", True, "off")
    slots.cli("update", "confirm")
    shows("the new version", "0.2.0", "0.2.0", False, "off")
    # The other tests look for one Hob.
    set_up(announce=False)
    until("it is gone", lambda: not entity())


def test_switching_in_home_assistant_moves_the_pin_and_back(joined, hob):
    lamp = entities(joined)["pin_17"]
    until("off", lambda: state(joined, lamp) == "off")
    rest(joined, "POST", f"/api/services/{lamp.split('.')[0]}/turn_on", {"entity_id": lamp})
    until("the pin is high", lambda: hob.call("gpio_read", pin=17)["high"])
    until("on", lambda: state(joined, lamp) == "on")
    hob.call("gpio_write", pin=17, high=False)
    until("off again", lambda: state(joined, lamp) == "off")


def test_a_name_that_goes_takes_its_entity_with_it(joined, hob):
    hob.call("name_pin", pin=22, name="Pump")
    until("the pump", lambda: "pin_22" in entities(joined))
    hob.call("name_pin", pin=22, name="")
    until("gone", lambda: "pin_22" not in entities(joined))


def test_a_rule_is_a_button_that_runs_it_and_a_switch_that_arms_it(joined, hob):
    rule, switch, button = make_rule(hob, "Evening", [{"type": "pin", "pin": 18, "high": True}],
                                     {"type": "pin", "pin": 5, "edge": "rising"})
    found = until("the rule", lambda: {switch, button} <= set(f := entities(joined)) and f)
    assert found[switch].startswith("switch.") and found[button].startswith("button.")
    until("it is armed", lambda: state(joined, found[switch]) == "on")
    act(joined, found[button], "press")
    until("its pin is high", lambda: is_high(hob, 18))
    hob.call("gpio_write", pin=18, high=False)
    # Disarmed in Home Assistant it does nothing, and armed again it does.
    enabled = lambda: hob.call("get_rule", ruleId=rule)["enabled"]  # noqa: E731
    act(joined, found[switch], "turn_off")
    until("it is disarmed", lambda: not enabled())
    until("Home Assistant knows", lambda: state(joined, found[switch]) == "off")
    hob.simulate("high 5\nwait 50\nlow 5\nwait 50\nhigh 6")
    until("the edges have been", lambda: is_high(hob, 6))
    assert not is_high(hob, 18) and hob.call("get_rule", ruleId=rule)["fired"] == 1
    act(joined, found[switch], "turn_on")
    until("it is armed", enabled)
    hob.simulate("high 5\nwait 50\nlow 5\nlow 6")
    until("its pin is high", lambda: is_high(hob, 18))
    # What is changed at Hob is seen in Home Assistant: armed, its name, and that it is gone.
    hob.call("update_rule", ruleId=rule, enabled=False)
    until("disarmed", lambda: state(joined, found[switch]) == "off")
    hob.call("update_rule", ruleId=rule, name="Late evening")
    until("a new name", lambda: "Late evening" in attributes(joined, found[switch])["friendly_name"])
    assert entities(joined)[switch] == found[switch], "the same entity under a new name"
    hob.call("delete_rule", ruleId="Late evening")
    until("gone", lambda: not {switch, button} & set(entities(joined)))


def test_a_rule_that_waits_keeps_nothing_waiting(joined, hob):
    wait = [{"type": "wait", "seconds": 500}]
    rule, _, button = make_rule(hob, "Slow", wait)
    until("the rule", lambda: button in entities(joined))
    # Home Assistant presses nothing that it does not know to be there.
    until("it can be pressed", lambda: state(joined, entities(joined)[button]) != "unavailable")
    act(joined, entities(joined)[button], "press")
    until("it runs", lambda: hob.call("rule_log", ruleId=rule)["log"])
    lamp = entities(joined)["pin_17"]
    act(joined, lamp, "turn_on")
    until("the lamp is on", lambda: is_high(hob, 17) and state(joined, lamp) == "on")
    act(joined, lamp, "turn_off")
    until("the lamp is off", lambda: not is_high(hob, 17) and state(joined, lamp) == "off")
    hob.call("delete_rule", ruleId="Slow")


def test_presses_are_events(joined, hob):
    event = entities(joined)["press_4"]
    assert attributes(joined, event)["event_types"] == ["short", "long", "double"]
    last = state(joined, event)
    # Times that hold on a busy machine, too.
    hob.call("configure_pin", pin=4, long_press_ms=2000, double_press_ms=2000)
    for steps, kind in [("press 4 60", "short"), ("press 4 2500", "long"), ("press 4 40\nwait 60\npress 4 40", "double"),
                        ("press 4 60", "short")]:
        hob.simulate(steps)
        until(kind, lambda: state(joined, event) != last and attributes(joined, event)["event_type"] == kind)
        last = state(joined, event)


def test_a_rule_that_fires_is_an_event(joined, hob):
    event = entities(joined)["rule_fired"]
    trigger = {"type": "pin", "pin": 5, "edge": "rising"}
    lamp, *_ = make_rule(hob, "Lamp", [{"type": "pin", "pin": 18, "high": False}], trigger)
    fired = lambda: {k: attributes(joined, event).get(k) for k in ("event_type", "rule", "rule_id")}  # noqa: E731
    hob.simulate("high 5\nwait 50\nlow 5")
    until("it fired", lambda: fired() == {"event_type": "ok", "rule": "Lamp", "rule_id": lamp})
    hob.call("delete_rule", ruleId="Lamp")
    # An input cannot be driven.
    broken, *_ = make_rule(hob, "Broken", [{"type": "pin", "pin": 19, "high": True}], trigger)
    hob.call("configure_pin", pin=19, direction="input")
    hob.simulate("high 5\nwait 50\nlow 5")
    until("it failed", lambda: fired() == {"event_type": "failed", "rule": "Broken", "rule_id": broken})
    hob.call("delete_rule", ruleId="Broken")


def test_many_rules_are_all_there(joined, hob):
    rules = [make_rule(hob, f"Rule number {n}", [{"type": "pin", "pin": 18, "high": False}]) for n in range(70)]
    wanted = {key for _, *keys in rules for key in keys}
    until("all of them", lambda: wanted <= set(entities(joined)))
    for n in range(70):
        hob.call("delete_rule", ruleId=f"Rule number {n}")
    until("all are gone", lambda: not wanted & set(entities(joined)))


@pytest.fixture(scope="module")
def keeper(joined, hob):
    """A rule that stays over restarts: its id, and the keys of its switch and its button."""
    trigger = {"type": "mqtt", "topic": "home/button", "payload": "press"}
    made = make_rule(hob, "Keeper", [{"type": "pin", "pin": 17, "high": False}], trigger)
    until("the rule", lambda: made[2] in entities(joined))
    return made


def runs(hob, rule):
    return hob.call("get_rule", ruleId=rule)["fired"]


def works(home, hob, keeper):
    """That pins and rules work in both directions, and once."""
    rule, switch, button = keeper
    found = entities(home)
    lamp, before = found["pin_17"], runs(hob, rule)
    hob.call("gpio_write", pin=17, high=False)
    until("off", lambda: state(home, lamp) == "off")
    act(home, lamp, "turn_on")
    until("the pin is high", lambda: is_high(hob, 17))
    until("on", lambda: state(home, lamp) == "on")
    act(home, found[button], "press")
    until("it ran", lambda: runs(hob, rule) > before)
    until("the lamp is off", lambda: state(home, lamp) == "off")
    assert runs(hob, rule) == before + 1 and state(home, found[switch]) == "on"


def publish(home, topic, payload, retain=False):
    """Home Assistant publishes a message."""
    body = {"topic": topic, "payload": payload, "qos": 1, "retain": retain}
    rest(home, "POST", "/api/services/mqtt/publish", body)


def test_the_broker_restarts_and_nothing_is_lost_or_doubled(joined, hob, broker, keeper):
    works(joined, hob, keeper)
    known = entities(joined)
    lamp, rule = known["pin_17"], keeper[0]
    # Without persistence: the broker has forgotten everything that was retained.
    broker.stop()
    until("unavailable", lambda: state(joined, lamp) == "unavailable")
    hob.call("gpio_write", pin=17, high=True)
    broker.start()
    until("as it is now", lambda: state(joined, lamp) == "on", 120)
    until("the rule too", lambda: state(joined, known[keeper[1]]) == "on")
    works(joined, hob, keeper)
    assert entities(joined) == known
    # A rule hears its topic again, and a message that the broker had retained is no news.
    before = runs(hob, rule)
    publish(joined, "home/button", "press", True)
    until("it ran", lambda: runs(hob, rule) == before + 1)
    hob.kill()
    hob.start()
    until("connected", lambda: hob.call("mqtt_status")["state"] == "connected")
    until("heard", lambda: hob.call("mqtt_read", topic="home/button")["messages"])
    works(joined, hob, keeper)
    assert runs(hob, rule) == before + 2 and entities(joined) == known
    publish(joined, "home/button", "", True)


def test_hob_is_killed_and_comes_back_as_it_was(joined, hob, keeper):
    known = entities(joined)
    lamp = known["pin_17"]
    hob.kill()
    until("unavailable", lambda: state(joined, lamp) == "unavailable")
    # What is commanded meanwhile is not made up for.
    act(joined, lamp, "turn_on")
    hob.start()
    until("back", lambda: state(joined, lamp) == "off")
    works(joined, hob, keeper)
    assert entities(joined) == known


def test_hob_is_unavailable_without_its_broker_and_comes_back(joined, hob, broker):
    lamp = entities(joined)["pin_17"]
    hob.call("config_set_entry", service="mqtt", fields={"host": "127.0.0.1", "port": 1})
    until("unavailable", lambda: state(joined, lamp) == "unavailable")
    hob.call("config_set_entry", service="mqtt", fields={"host": "127.0.0.1", "port": broker.port})
    until("back", lambda: state(joined, lamp) == "off")


def test_home_assistant_restarts_and_knows_it_all_again(joined, hob, keeper):
    known = entities(joined)
    here = pathlib.Path(sys.modules["ha"].__file__).parent
    subprocess.run([here / "ha", "restart", "--dir", joined.folder], check=True, stdout=subprocess.DEVNULL, timeout=240)
    import ha

    again = ha.Home(joined.folder)
    lamp = entities(again)["pin_17"]
    until("known again", lambda: state(again, lamp) == ("on" if is_high(hob, 17) else "off"))
    works(again, hob, keeper)
    assert entities(again) == known
    joined.about = again.about
