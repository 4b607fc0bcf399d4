"""Hob at a real mosquitto, beside a paho client: pins, readings, devices that announce themselves, and everything that fails."""

import json
import os
import signal
import subprocess
import threading
import time

import httpx
import pytest
from broker import Broker, Flood, Peer, until
from daemon import TOKEN

BASE = "hob/kitchen"


class Hob:
    """A claimed daemon that may be killed and started again."""

    def __init__(self, folder, config=""):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / "test.toml").write_text("[limits]\ncalls = 0\n[approvals]\nin_call_seconds = 1\n" + config)
        self.start()

    def start(self):
        command = [os.environ["HOB_BIN"], "serve", "--data", self.folder / "data", "--board", "sim", "--listen", "127.0.0.1:0",
                   "--no-mdns", "--name", "kitchen", "--config", self.folder / "test.toml"]
        env = {"PATH": os.environ["PATH"], "HOB_TOKEN": TOKEN, "HOB_LOG": "info"}
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline().split()
        assert line, self.log()[-3000:]
        self.http = httpx.Client(base_url=line[-1], headers={"authorization": f"Bearer {TOKEN}"}, timeout=60)

    def log(self):
        return (self.folder / "log").read_text()

    def execute(self, tool, **arguments):
        return self.http.post(f"/api/v1/tools/{tool}/execute", json={"arguments": arguments})

    def call(self, tool, **arguments):
        answer = self.execute(tool, **arguments)
        assert answer.status_code == 200, (tool, answer.text)
        body = answer.json()
        return body.get("data", body)["result"]

    def set_up(self, port, **more):
        self.call("config_set_entry", service="mqtt", fields={"host": "127.0.0.1", "port": port, "base": BASE, **more})

    def is_(self, state):
        return until(f"mqtt is {state}: {self.call('mqtt_status')}\n{self.log()[-2000:]}", lambda: self.call("mqtt_status")["state"] == state)

    def high(self, pin):
        return self.call("gpio_read", pin=pin)["high"]

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(20) == 0, self.log()[-3000:]
        assert not (self.folder / "data/crash").exists(), self.log()[-3000:]


@pytest.fixture
def hob(tmp_path):
    made = Hob(tmp_path / "hob")
    yield made
    made.stop()


@pytest.fixture
def broker(tmp_path):
    made = Broker(tmp_path / "broker")
    yield made
    made.stop()


@pytest.fixture
def peer(broker):
    made = Peer(broker.port)
    yield made
    made.close()


def test_a_named_pin_is_switched_and_others_are_not(hob, broker, peer):
    hob.call("name_pin", pin=17, name="Hall lamp")
    hob.call("name_pin", pin=4, name="Door", sensor=True)
    hob.set_up(broker.port)
    peer.wait(f"{BASE}/status", "online")
    peer.wait(f"{BASE}/pin/17/state", "OFF")
    peer.publish(f"{BASE}/pin/17/set", "ON")
    peer.wait(f"{BASE}/pin/17/state", "ON")
    assert hob.high(17)
    # Switched from elsewhere: the topic follows.
    hob.call("gpio_write", pin=17, high=False)
    peer.wait(f"{BASE}/pin/17/state", "OFF")
    # Neither a pin without a name, a sensor nor nonsense moves anything. The last message is obeyed, so the others have been
    # read before.
    for pin, payload in [(22, "ON"), (4, "ON"), (17, "open sesame"), (99, "ON"), (17, "")]:
        peer.publish(f"{BASE}/pin/{pin}/set", payload)
    peer.publish(f"{BASE}/call", '{"tool": "gpio_write", "arguments": {"pin": 22, "high": true}}')
    peer.publish(f"{BASE}/pin/17/set", "TOGGLE")
    peer.wait(f"{BASE}/pin/17/state", "ON")
    levels = {pin["pin"]: pin["high"] for pin in hob.call("gpio_list")["pins"]}
    assert levels[17] and not levels[22] and not levels[4]


def test_the_last_command_counts_although_the_pin_is_switched_too_fast(hob, broker, peer):
    hob.call("name_pin", pin=17, name="Hall lamp")
    hob.call("name_pin", pin=22, name="Pump")
    hob.set_up(broker.port)
    peer.wait(f"{BASE}/pin/17/state", "OFF")
    peer.wait(f"{BASE}/pin/22/state", "OFF")

    def switch(last, mark):
        # More than the burst that a pin takes, and fewer than those from which on older ones are dropped. Commands are obeyed in
        # their order: after the mark all of them were.
        for n in range(28):
            peer.publish(f"{BASE}/pin/17/set", "OFF" if n % 2 else "ON")
        peer.publish(f"{BASE}/pin/17/set", last)
        peer.publish(f"{BASE}/pin/22/set", mark)
        peer.wait(f"{BASE}/pin/22/state", mark)

    switch("ON", "ON")
    until("the last of them was obeyed", lambda: hob.high(17) and peer.latest(f"{BASE}/pin/17/state") == "ON")
    # A newer command takes the place of one that waits: the lamp goes off, and stays off.
    switch("OFF", "OFF")
    hob.call("mqtt_read", topic="never/sent", waitSeconds=3)
    assert not hob.high(17) and peer.latest(f"{BASE}/pin/17/state") == "OFF"


def test_the_announcement_follows_names(hob, broker, peer):
    hob.call("name_pin", pin=17, name="Hall lamp")
    hob.call("name_pin", pin=4, name="Door", sensor=True)
    hob.set_up(broker.port)

    def announced(check):
        def look():
            found = [m for m in list(peer.messages) if m.topic.startswith("homeassistant/device/hob_") and m.payload]
            return found and check(json.loads(found[-1].payload)) and json.loads(found[-1].payload)

        return until("announced", look)

    made = announced(lambda config: "pin_17" in config["cmps"] and "pin_4" in config["cmps"])
    assert made["cmps"]["pin_17"]["name"] == "Hall lamp" and made["cmps"]["pin_17"]["cmd_t"] == f"{BASE}/pin/17/set"
    assert made["cmps"]["pin_4"]["p"] == "binary_sensor" and made["cmps"]["press_4"]["p"] == "event"
    assert made["avty_t"] == f"{BASE}/status" and made["o"]["name"] == "Hob"
    assert json.loads(peer.wait(f"{BASE}/update"))["installed_version"] == made["dev"]["sw"]
    float(peer.wait(f"{BASE}/sensor/disk_free"))
    # A name that goes takes its entity with it: first a component that is only a platform, then one without it.
    hob.call("name_pin", pin=17, name="")
    announced(lambda config: "pin_17" not in config["cmps"])
    configs = [json.loads(m.payload) for m in peer.messages if m.topic.startswith("homeassistant/device/hob_")]
    assert any(list(config["cmps"].get("pin_17", {})) == ["p"] for config in configs)
    # Home Assistant starts: everything is published again.
    count = len(configs)
    peer.publish("homeassistant/status", "online")
    until("announced again", lambda: len([m for m in peer.messages if m.topic.startswith("homeassistant/device/hob_")]) > count)
    # What was named before a restart and is gone after it is removed too: the broker has kept the announcement.
    hob.call("name_pin", pin=22, name="Pump")
    announced(lambda config: "pin_22" in config["cmps"])
    hob.call("config_set_entry", service="mqtt", fields={"host": "127.0.0.1", "port": 1})
    hob.is_("connecting")
    hob.call("name_pin", pin=22, name="")
    hob.set_up(broker.port)
    announced(lambda config: "pin_22" not in config["cmps"])
    # Switched off, the device goes.
    hob.set_up(broker.port, announce=False)
    until("gone", lambda: peer.messages and [m for m in peer.messages if m.topic.startswith("homeassistant/device/hob_")][-1].payload == b"")


def test_the_last_will_says_offline_after_a_kill_and_a_stop(hob, broker, peer):
    hob.set_up(broker.port)
    peer.wait(f"{BASE}/status", "online")
    hob.process.send_signal(signal.SIGKILL)
    hob.process.wait()
    peer.wait(f"{BASE}/status", "offline")
    hob.start()
    peer.wait(f"{BASE}/status", "online")
    hob.stop()
    peer.wait(f"{BASE}/status", "offline")
    assert "not authorised" not in broker.log()


def test_a_broker_that_restarts_is_found_again(hob, broker):
    hob.call("name_pin", pin=17, name="Hall lamp")
    hob.set_up(broker.port)
    hob.is_("connected")
    broker.stop()
    hob.is_("connecting")
    refused = hob.execute("mqtt_publish", topic="a/b", payload="1")
    assert refused.status_code == 409 and "not connected" in refused.text, refused.text
    broker.start()
    hob.is_("connected")
    # A broker without memory learns everything again: subscriptions, states, announcement.
    peer = Peer(broker.port)
    peer.wait(f"{BASE}/pin/17/state", "OFF")
    peer.publish(f"{BASE}/pin/17/set", "ON")
    peer.wait(f"{BASE}/pin/17/state", "ON")
    peer.close()
    # The same where it is away for a moment only.
    connections = hob.call("mqtt_status")["connections"]
    broker.restart()
    until("connected again", lambda: hob.call("mqtt_status")["connections"] > connections)
    peer = Peer(broker.port)
    peer.wait(f"{BASE}/pin/17/state", "ON")
    peer.wait(f"{BASE}/status", "online")
    float(peer.wait(f"{BASE}/sensor/disk_free"))
    until("announced", lambda: [m for m in list(peer.messages) if m.topic.startswith("homeassistant/device/hob_") and m.payload])
    peer.publish(f"{BASE}/pin/17/set", "OFF")
    peer.wait(f"{BASE}/pin/17/state", "OFF")
    peer.close()


def test_states_of_what_is_gone_do_not_stay_at_the_broker(hob, broker, peer):
    rule = lambda name: hob.call(  # noqa: E731
        "create_rule", name=name, triggers=[{"type": "event", "topic": "custom:never"}], actions=[{"type": "pin", "pin": 21, "toggle": True}])["id"]
    for pin, name in [(17, "Hall lamp"), (22, "Pump"), (23, "Fan")]:
        hob.call("name_pin", pin=pin, name=name)
    rules = [f"{BASE}/rule/{rule(name)}/state" for name in ("Stays", "Goes", "Goes later")]
    pins = [f"{BASE}/pin/{pin}/state" for pin in (17, 22, 23)]
    hob.set_up(broker.port)
    for topic, state in [(pins[0], "OFF"), (pins[1], "OFF"), (pins[2], "OFF"), (rules[0], "ON"), (rules[1], "ON"), (rules[2], "ON")]:
        peer.wait(topic, state)

    def retained():
        late = Peer(broker.port, topics=f"{BASE}/#")
        # The broker sends what it has retained before what is published now.
        late.publish(f"{BASE}/mark", "now")
        late.wait(f"{BASE}/mark", "now")
        late.close()
        return {m.topic for m in late.messages if m.topic.endswith("/state")}

    assert retained() == {*pins, *rules}
    hob.call("name_pin", pin=22, name="")
    hob.call("delete_rule", ruleId="Goes")
    peer.wait(pins[1], "")
    peer.wait(rules[1], "")
    assert retained() == {pins[0], pins[2], rules[0], rules[2]}
    # What goes while there is no connection is cleared after a restart.
    hob.call("config_set_entry", service="mqtt", fields={"host": "127.0.0.1", "port": 1})
    hob.is_("connecting")
    hob.call("name_pin", pin=23, name="")
    hob.call("delete_rule", ruleId="Goes later")
    hob.stop()
    hob.start()
    hob.set_up(broker.port)
    peer.wait(pins[2], "")
    peer.wait(rules[2], "")
    assert retained() == {pins[0], rules[0]}


def test_private_rules_can_be_kept_from_the_broker(hob, broker, peer):
    made = hob.call("create_rule", name="Present for Mia", triggers=[{"type": "event", "topic": "custom:never"}],
                    actions=[{"type": "pin", "pin": 21, "high": True}])["id"]
    hob.call("name_pin", pin=17, name="Hall lamp")
    hob.set_up(broker.port, private_rules=False)
    peer.wait(f"{BASE}/pin/17/state", "OFF")
    until("announced", lambda: [m for m in list(peer.messages) if m.topic.startswith("homeassistant/device/hob_") and m.payload])
    # Nor is it run from there. The last message is obeyed, so this one has been read before.
    peer.publish(f"{BASE}/rule/{made}/run", "PRESS")
    peer.publish(f"{BASE}/pin/17/set", "ON")
    peer.wait(f"{BASE}/pin/17/state", "ON")
    hob.call("run_rule", ruleId=made)
    assert hob.call("get_rule", ruleId=made)["fired"] == 1 and hob.high(21)
    peer.publish(f"{BASE}/pin/17/set", "OFF")
    peer.wait(f"{BASE}/pin/17/state", "OFF")
    heard = [m for m in peer.messages if made in m.topic or b"Mia" in m.payload or made.encode() in m.payload]
    assert [m.topic for m in heard] == [f"{BASE}/rule/{made}/run"], heard
    # Otherwise they are shown.
    hob.set_up(broker.port, private_rules=True)
    peer.wait(f"{BASE}/rule/{made}/state", "ON")


def test_a_wrong_password_is_told_and_corrected(hob, tmp_path):
    broker = Broker(tmp_path / "locked", users=[("hob", "right-password")])
    hob.set_up(broker.port, username="hob", password="wrong-password")
    hob.is_("refused")
    status = hob.call("mqtt_status")
    assert "password" in status["why"] and "wrong-password" not in json.dumps(status)
    attempts = broker.log().count("not authorised")
    assert attempts == 1, "a wrong password is not tried again at once"
    hob.set_up(broker.port, username="hob", password="right-password")
    hob.is_("connected")
    assert "right-password" not in hob.log() and "wrong-password" not in hob.log()
    broker.stop()


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def test_tls_with_an_authority_of_its_own(hob, tmp_path):
    folder = tmp_path / "tls"
    folder.mkdir()
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=Home CA",
            "-addext", "basicConstraints=critical,CA:TRUE")
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "broker.key", "-out", "broker.csr", "-subj", "/CN=broker")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    openssl(folder, "x509", "-req", "-in", "broker.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-out", "broker.crt", "-days", "2",
            "-extfile", "names")
    files = [f"cafile {folder}/ca.crt", f"certfile {folder}/broker.crt", f"keyfile {folder}/broker.key"]
    broker = Broker(tmp_path / "broker", lines=files)
    # Without the authority the broker is a stranger.
    hob.set_up(broker.port, tls=True)
    until("refused", lambda: "encrypted connection failed" in hob.call("mqtt_status")["why"])
    hob.set_up(broker.port, tls=True, ca=(folder / "ca.crt").read_text())
    hob.is_("connected")
    peer = Peer(broker.port, ca=folder / "ca.crt")
    peer.wait(f"{BASE}/status", "online")
    hob.call("mqtt_publish", topic="secret/topic", payload="hello", retain=True)
    peer.wait("secret/topic", "hello")
    peer.close()
    broker.stop()


def test_messages_are_published_and_read(hob, broker, peer):
    hob.set_up(broker.port, guarded="gate/#")
    hob.is_("connected")
    peer.publish("home/kept", "21.5", retain=True)
    peer.wait("home/kept", "21.5")
    read = hob.call("mqtt_read", topic="home/+")
    assert [(m["topic"], m["payload"], m["retained"]) for m in read["messages"]] == [("home/kept", "21.5", True)]
    assert hob.call("mqtt_read", topic="home/nothing", waitSeconds=0.1)["count"] == 0
    hob.call("mqtt_publish", topic="home/lamp/set", payload="ON")
    peer.wait("home/lamp/set", "ON")
    # By hand a guarded topic is not asked about; the broker's own topics and Hob's are nobody's to write.
    hob.call("mqtt_publish", topic="gate/set", payload="OPEN")
    for topic in ["$SYS/x", "homeassistant/switch/a/config", f"{BASE}/pin/17/set"]:
        assert hob.execute("mqtt_publish", topic=topic, payload="x").status_code == 403, topic
    for topic in ["", "a/#", "a\nb", "x" * 300]:
        assert hob.execute("mqtt_publish", topic=topic, payload="x").status_code == 400, topic
    assert hob.execute("mqtt_publish", topic="big", payload="x" * 70000).status_code == 400
    # A message that is too large for Hob does not disturb it.
    peer.publish("home/big", "x" * 100_000, retain=True)
    peer.publish("home/after", "yes", retain=True)
    peer.wait("home/after", "yes")
    assert {m["topic"] for m in hob.call("mqtt_read", topic="home/+")["messages"]} == {"home/kept", "home/after"}


def test_devices_that_announce_themselves_are_read(hob, broker, peer):
    config = {"name": "Plug", "cmd_t": "plug/set", "stat_t": "plug/state", "uniq_id": "plug1", "dev": {"name": "Plug", "ids": ["p"]}}
    peer.publish("homeassistant/switch/plug/config", json.dumps(config), retain=True)
    peer.publish("homeassistant/switch/bad/config", "{not json", retain=True)
    hob.set_up(broker.port)
    until("announced", lambda: hob.call("mqtt_status")["announcedThings"] == 1)
    peer.publish("homeassistant/switch/plug/config", "", retain=True)
    until("gone", lambda: hob.call("mqtt_status")["announcedThings"] == 0)


def test_a_blind_of_zigbee2mqtt_is_moved_to_a_position(hob, broker, peer):
    # As Zigbee2MQTT 1.33 and later announces it.
    topic = "zigbee2mqtt/Study blind"
    config = {
        "command_topic": f"{topic}/set", "position_topic": topic, "set_position_topic": f"{topic}/set", "state_topic": topic,
        "set_position_template": '{ "position": {{ position }} }', "position_template": "{{ value_json.position }}",
        "value_template": "{{ value_json.state }}", "state_open": "OPEN", "state_closed": "CLOSE", "state_stopped": "STOP", "name": None,
        "object_id": "study_blind", "unique_id": "0x0017880104e45551_cover_zigbee2mqtt", "origin": {"name": "Zigbee2MQTT", "sw": "1.40.0"},
        "device": {"identifiers": ["zigbee2mqtt_0x0017880104e45551"], "name": "Study blind", "manufacturer": "IKEA"},
        "availability": [{"topic": "zigbee2mqtt/bridge/state", "value_template": "{{ value_json.state }}"}],
    }
    peer.publish("zigbee2mqtt/bridge/state", '{"state":"online"}', retain=True)
    peer.publish("homeassistant/cover/0x0017880104e45551/cover/config", json.dumps(config), retain=True)
    peer.publish(topic, '{"state":"OPEN","position":100,"linkquality":92}', retain=True)
    hob.set_up(broker.port)
    blind = lambda: next((t for t in hob.call("list_things")["things"] if t["name"] == "Study blind"), {})  # noqa: E731
    until("the blind is open", lambda: "100" in json.dumps(blind()))
    hob.call("control_thing", thing="Study blind", action="set_level", level=40)
    peer.wait(f"{topic}/set", '{ "position": 40 }')
    peer.publish(topic, '{"state":"OPEN","position":40}', retain=True)
    until("it is at 40 %", lambda: "40" in json.dumps(blind()) and "100" not in json.dumps(blind()))
    hob.call("control_thing", thing="Study blind", action="close")
    peer.wait(f"{topic}/set", "CLOSE")
    peer.publish(topic, '{"state":"CLOSE","position":0}', retain=True)
    until("it is closed", lambda: "closed" in json.dumps(blind()))


def test_a_flood_leaves_memory_steady(hob, broker):
    peer = Peer(broker.port, topics=f"{BASE}/pin/17/state")
    pours = Flood(broker.port)
    hob.call("name_pin", pin=17, name="Hall lamp")
    hob.set_up(broker.port)
    hob.call("add_mqtt_thing", name="Meter", kind="sensor", stateTopic="flood/0")
    hob.is_("connected")
    peer.wait(f"{BASE}/pin/17/state", "OFF")

    def flood(count):
        before = hob.call("mqtt_status")["received"]
        # Half of them are nonsense for a pin.
        pours.send(["flood/0", f"{BASE}/pin/17/set"], 1, 2 * count)
        until("received", lambda: hob.call("mqtt_status")["received"] >= before + count, 120)

    flood(10_000)
    settled = hob.memory()
    begun = time.monotonic()
    for _ in range(4):
        flood(10_000)
    rate = 80_000 / (time.monotonic() - begun)
    grown = hob.memory() - settled
    assert grown < 8 * 1024, f"{grown} KB more after 80,000 messages at {rate:.0f} a second"
    # It still obeys.
    peer.publish(f"{BASE}/pin/17/set", "ON")
    peer.wait(f"{BASE}/pin/17/state", "ON")
    pours.close()
    peer.close()


def test_ten_thousand_messages_a_second_drown_nothing(hob, broker):
    """Rules listen to the flood, and to a button; a person switches a lamp."""
    # Who looks on has not to follow the flood, too.
    peer = Peer(broker.port, topics=f"{BASE}/pin/17/state")
    hob.call("name_pin", pin=17, name="Hall lamp")
    hob.set_up(broker.port)
    rule = lambda name, trigger, action: hob.call(  # noqa: E731
        "create_rule", name=name, triggers=[trigger], actions=[action], mode="queued", maxPerHour=36_000)["id"]
    never = rule("Never", {"type": "threshold", "topic": "meter/#", "above": 1e12}, {"type": "pin", "pin": 20, "high": True})
    bell = rule("Bell", {"type": "mqtt", "topic": "button", "payload": "single"}, {"type": "pin", "pin": 21, "toggle": True})
    hob.is_("connected")
    until("both topics", lambda: all(f"{topic} (QoS 1)" in broker.log() for topic in ("meter/#", "button")))
    fired = lambda which: hob.call("get_rule", ruleId=which)["fired"]  # noqa: E731
    meters = [f"meter/{n}" for n in range(40)] + [f"{BASE}/pin/30/set"]
    flood, sent = Flood(broker.port), []

    def pour(seconds):
        pouring = threading.Thread(target=lambda: sent.append(flood.send(meters, seconds)))
        pouring.start()
        return pouring

    pour(3).join()
    before = hob.memory()
    pouring, presses = pour(12), 0
    while pouring.is_alive():
        # A press, and that it is over, as zigbee2mqtt reports it.
        peer.publish("button", "single")
        peer.publish("button", "")
        presses += 1
        until(f"press {presses}", lambda: fired(bell) == presses)
        state = "ON" if presses % 2 else "OFF"
        peer.publish(f"{BASE}/pin/17/set", state)
        peer.wait(f"{BASE}/pin/17/state", state)
    status = hob.call("mqtt_status")
    grown = hob.memory() - before
    print(f"{sum(sent)} sent, {status['received']} received, {status['dropped']} thinned, {presses} presses, {grown} KB more")
    assert fired(bell) == presses and fired(never) == 0
    assert grown < 12 * 1024, f"{grown} KB more"
    # The last word counts, however fast it came.
    for n in range(3000):
        peer.client.publish(f"{BASE}/pin/17/set", "ON" if n % 2 else "OFF", 0)
    peer.publish(f"{BASE}/pin/17/set", "ON")
    until("the last of them was obeyed", lambda: hob.high(17) and peer.latest(f"{BASE}/pin/17/state") == "ON")
    peer.publish(f"{BASE}/pin/17/set", "OFF")
    peer.wait(f"{BASE}/pin/17/state", "OFF")
    flood.close()
    peer.close()
