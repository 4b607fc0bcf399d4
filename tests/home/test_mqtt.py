"""A real Home Assistant finds Hob by MQTT discovery through a real mosquitto, and switches its pins."""

import asyncio
import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "clients"))
from broker import Broker  # noqa: E402


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


def test_hob_is_unavailable_without_its_broker_and_comes_back(joined, hob, broker):
    lamp = entities(joined)["pin_17"]
    hob.call("config_set_entry", service="mqtt", fields={"host": "127.0.0.1", "port": 1})
    until("unavailable", lambda: state(joined, lamp) == "unavailable")
    hob.call("config_set_entry", service="mqtt", fields={"host": "127.0.0.1", "port": broker.port})
    until("back", lambda: state(joined, lamp) == "off")


def test_home_assistant_restarts_and_knows_it_all_again(joined, hob):
    import subprocess

    here = pathlib.Path(sys.modules["ha"].__file__).parent
    subprocess.run([here / "ha", "restart", "--dir", joined.folder], check=True, stdout=subprocess.DEVNULL, timeout=240)
    import ha

    again = ha.Home(joined.folder)
    lamp = entities(again)["pin_17"]
    until("known again", lambda: state(again, lamp) == "off")
    rest(again, "POST", f"/api/services/{lamp.split('.')[0]}/turn_on", {"entity_id": lamp})
    until("the pin is high", lambda: hob.call("gpio_read", pin=17)["high"])
    joined.about = again.about
