"""Hob and a real Home Assistant on a network of their own: found by mDNS, offered and never used by itself, lost and found."""

import json
import os
import pathlib
import sys

import pytest

from conftest import HERE

sys.path.append(str(HERE.parent / "clients"))
os.environ.setdefault("HOB_BIN", str(HERE.parent.parent / "target/debug/hob"))
from lan import Lan, until  # noqa: E402

ENTRIES = "/api/v1/config-services/home_assistant/entries"


@pytest.fixture
def lan(tmp_path):
    made = Lan(tmp_path)
    yield made
    made.close()


def test_it_is_found_offered_and_followed(lan, tmp_path):
    hub, board = lan.machine("hub", "10.77.0.8"), lan.machine("board", "10.77.0.5")
    start = [HERE / "ha", "start", "--port", "8123", "--host", "0.0.0.0", "--zeroconf", "--dir", tmp_path / "ha"]
    try:
        token = json.loads(hub.run(*start, timeout=240))["token"]
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

        def discovered():
            found = json.loads(board.run(os.environ["HOB_BIN"], "discover", "--json", env=env))
            return [one for one in found if one["kind"] == "home-assistant"]

        [home] = until("an announcement", discovered, 60)
        assert (home["url"], home["version"]) == ("http://10.77.0.8:8123", "2024.12.5")

        hob = board.hob("kitchen")
        call = lambda tool, **arguments: hob.owned(  # noqa: E731
            "POST", f"/api/v1/tools/{tool}/execute", {"arguments": arguments})["result"]
        # An address at which nobody answers: the one that was found is offered, and the token is not sent there.
        entry = {"url": "http://10.77.0.99:8123", "token": token}
        hob.owned("POST", ENTRIES, {"label": "default", "fields": entry})
        status = until("a loss", lambda: (s := call("ha_status"))["state"] == "lost" and s, 60)
        offered = until("an offer", lambda: call("ha_status")["found"], 60)
        assert offered[0]["url"] == "http://10.77.0.8:8123", status
        assert call("ha_status")["state"] == "lost"

        hob.owned("PATCH", f"{ENTRIES}/default", {"fields": {**entry, "url": offered[0]["url"]}})
        until("a connection", lambda: call("ha_status")["state"] == "connected", 60)
        call("ha_call_service", domain="light", service="turn_off", entity="light.ceiling_lights")

        # The cable is pulled: nothing says so, and it is noticed all the same. Meanwhile the home changes.
        hub.join(False)
        until("a loss", lambda: call("ha_status")["state"] == "lost", 90)
        ws = {"type": "call_service", "domain": "light", "service": "turn_on", "target": {"entity_id": "light.ceiling_lights"}}
        hub.run(HERE / "ha", "ws", "--dir", tmp_path / "ha", json.dumps(ws), timeout=60)
        hub.join(True)
        until("a connection", lambda: call("ha_status")["state"] == "connected", 150)
        assert call("ha_get_state", entity="light.ceiling_lights")["state"] == "on"
        hob.stop()
    finally:
        if (pathlib.Path(tmp_path) / "ha" / "ha.json").exists():
            hub.run(HERE / "ha", "stop", "--dir", tmp_path / "ha", timeout=90)
