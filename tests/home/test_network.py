"""Hob and a real Home Assistant on a network of their own: found by mDNS, offered and never used by itself, lost and found."""

import json
import os
import pathlib

from conftest import HERE

from lan import until

ENTRIES = "/api/v1/config-services/home_assistant/entries"


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
        rule = call("create_rule", name="Light", triggers=[{"type": "ha", "entity": "light.ceiling_lights", "to": "on"}],
                    actions=[{"type": "pin", "pin": 17, "high": True}])["id"]

        # The cable is pulled: nothing says so, and it is noticed all the same. Meanwhile the home changes.
        hub.join(False)
        until("a loss", lambda: call("ha_status")["state"] == "lost", 90)
        ws = {"type": "call_service", "domain": "light", "service": "turn_on", "target": {"entity_id": "light.ceiling_lights"}}
        hub.run(HERE / "ha", "ws", "--dir", tmp_path / "ha", json.dumps(ws), timeout=60)
        hub.join(True)
        until("a connection", lambda: call("ha_status")["state"] == "connected", 150)
        assert call("ha_get_state", entity="light.ceiling_lights")["state"] == "on"
        # The change is caught up with, and a rule runs for it once.
        until("the rule", lambda: call("gpio_read", pin=17)["high"])
        call("ha_call_service", domain="light", service="turn_off", entity="light.ceiling_lights")
        assert call("get_rule", ruleId=rule)["fired"] == 1
        hob.stop()
    finally:
        if (pathlib.Path(tmp_path) / "ha" / "ha.json").exists():
            hub.run(HERE / "ha", "stop", "--dir", tmp_path / "ha", timeout=90)
