"""Hob and its broker on a network of their own that fails: a cable that is pulled, an interface that goes down, packets that are lost."""

import pytest
from lan import until

BASE, HUB = "hob/kitchen", "10.77.0.8"


@pytest.fixture
def hub(lan, tmp_path):
    """A machine with a mosquitto."""
    hub = lan.machine("hub", HUB)
    conf = tmp_path / "mosquitto.conf"
    conf.write_text("user root\nlistener 1883 0.0.0.0\nallow_anonymous true\n")
    hub.background("/usr/sbin/mosquitto", "-c", conf)
    until("a broker", lambda: hub.run("sh", "-c", "mosquitto_pub -h 127.0.0.1 -t up -n 2>&1 || true") == "")
    return hub


def retained(hub, topic):
    said = hub.run("sh", "-c", f"mosquitto_sub -h 127.0.0.1 -t '{topic}' -C 1 -W 1 || true")
    return said.strip()


def test_a_network_that_fails_is_noticed_and_all_is_as_it_is_afterwards(lan, hub):
    board = lan.machine("board", "10.77.0.5")
    hob = board.hob("kitchen")
    call = lambda tool, **arguments: hob.owned(  # noqa: E731
        "POST", f"/api/v1/tools/{tool}/execute", {"arguments": arguments})["result"]
    publish = lambda topic, payload: hub.run("mosquitto_pub", "-h", "127.0.0.1", "-q", "1", "-t", topic, "-m", payload)  # noqa: E731
    state = lambda: call("mqtt_status")["state"]  # noqa: E731
    call("name_pin", pin=17, name="Hall lamp")
    call("config_set_entry", service="mqtt", fields={"host": HUB, "port": 1883, "base": BASE})
    rule = call("create_rule", name="Bell", triggers=[{"type": "mqtt", "topic": "button", "payload": "press"}],
                actions=[{"type": "pin", "pin": 21, "toggle": True}], mode="queued")["id"]
    fired = lambda: call("get_rule", ruleId=rule)["fired"]  # noqa: E731
    until("online", lambda: retained(hub, f"{BASE}/status") == "online")
    until("off", lambda: retained(hub, f"{BASE}/pin/17/state") == "OFF")
    # Those of the Hob itself, of announcements, and the rule's; a moment after the connection there are two more.
    until("the button", lambda: call("mqtt_status")["subscriptions"] == 8)

    def works(presses, high):
        """Everything is published, subscribed to and obeyed, once."""
        level = "ON" if high else "OFF"
        until(level, lambda: retained(hub, f"{BASE}/pin/17/state") == level)
        publish("button", "press")
        until("the rule", lambda: fired() == presses)
        publish(f"{BASE}/pin/17/set", "OFF" if high else "ON")
        until("obeyed", lambda: call("gpio_read", pin=17)["high"] is not high)
        assert fired() == presses and retained(hub, f"{BASE}/status") == "online"

    works(1, False)
    memory = hob.memory()
    # The cable is pulled at the other end: nothing says so. What is published meanwhile is not lost.
    hub.join(False)
    call("gpio_write", pin=17, high=False)
    until("a loss", lambda: state() == "connecting", 120)
    assert retained(hub, f"{BASE}/status") == "offline"
    call("gpio_write", pin=17, high=True)
    hub.join(True)
    until("a connection", lambda: state() == "connected", 120)
    works(2, True)

    # The interface of the board goes, with its address, and comes back with another.
    board.run("ip", "address", "flush", "dev", "eth0")
    board.run("ip", "link", "set", "eth0", "down")
    call("gpio_write", pin=17, high=False)
    until("a loss", lambda: state() == "connecting", 120)
    board.run("ip", "link", "set", "eth0", "up")
    board.run("ip", "address", "add", "10.77.0.51/24", "dev", "eth0")
    until("a connection", lambda: state() == "connected", 120)
    works(3, False)

    # A blink that is shorter than the patience of either: the same connection goes on, and nothing is lost.
    connections = call("mqtt_status")["connections"]
    hub.join(False)
    for high in (False, True, False):
        call("gpio_write", pin=17, high=high)
    hub.join(True)
    works(4, False)
    assert call("mqtt_status")["connections"] == connections
    assert hob.memory() - memory < 8 * 1024
    hob.stop()
