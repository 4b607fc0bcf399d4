"""Hob with a real Home Assistant: what it sees, what it does, and what happens when things go wrong."""

import asyncio
import json
import os
import signal
import subprocess
import time

import pytest

from conftest import HERE


def ws(home, *commands):
    return asyncio.run(home.ws(*commands))


def state(home, entity):
    return asyncio.run(home.rest("GET", f"/api/states/{entity}"))


@pytest.fixture(scope="module")
def connected(hob, home):
    hob.set_up(home)
    hob.wait_for_state("connected")
    # Rooms arrive right after the entities.
    end = time.monotonic() + 30
    while "Office" not in hob.call("ha_status")["areas"] and time.monotonic() < end:
        time.sleep(0.1)
    # So do the services.
    while time.monotonic() < end:
        try:
            hob.call("ha_call_service", domain="light", service="turn_off", entity="light.bed_light")
            break
        except RuntimeError:
            time.sleep(0.1)
    return hob


def test_the_service_is_listed_before_it_is_set_up(hob):
    status, answer = hob.request("GET", "/api/v1/config-services/home_assistant")
    assert status == 200
    fields = {field["name"]: field for field in answer["data"]["schema"]}
    assert fields["token"]["secret"] and fields["url"]["required"] and "read" in fields and "act" in fields


def test_it_connects_and_knows_the_home(connected):
    status = connected.call("ha_status")
    assert status["version"] == "2024.12.5" and status["name"] == "Test Home"
    assert status["entities"] > 80 and {"Hall", "Kitchen", "Office", "Garage"} <= set(status["areas"])


def test_the_token_is_shown_nowhere(connected, home):
    for path in ("/api/v1/config-services", "/api/v1/config-services/home_assistant"):
        _, answer = connected.request("GET", path)
        assert home.token not in json.dumps(answer)
    assert home.token not in connected.log.read_text()


@pytest.mark.parametrize("query, entity", [
    ("kitchen lights", "light.kitchen_lights"),
    ("night lamp", "light.bed_light"),
    ("garage door", "cover.garage_door"),
    ("outside temprature", "sensor.outside_temperature"),
    ("window in the hall", "cover.hall_window"),
    ("lamp in the study", "light.office_rgbw_lights"),
])
def test_words_find_entities(connected, query, entity):
    found = connected.call("ha_find_entities", query=query)["entities"]
    assert found[0]["entity"] == entity, found


def test_searches_are_bounded(connected):
    everything = connected.call("ha_find_entities")
    assert everything["entities"] > 80 and "light" in everything["domains"] and len(json.dumps(everything)) < 2000
    page = connected.call("ha_find_entities", domain="sensor", limit=3)
    assert len(page["entities"]) == 3 and page["more"] > 5
    upstairs = connected.call("ha_find_entities", domain="light", area="Upstairs")["entities"]
    assert {row["entity"] for row in upstairs} == {"light.bed_light", "light.office_rgbw_lights"}
    with pytest.raises(RuntimeError, match="has no area"):
        connected.call("ha_find_entities", area="Dungeon")


def test_a_service_is_called_and_the_change_comes_over_the_websocket(connected, home):
    events = connected.listen("ha:state")
    before = state(home, "light.bed_light")["state"]
    service = "turn_off" if before == "on" else "turn_on"
    result = connected.call("ha_call_service", domain="light", service=service, entity="light.bed_light")
    wanted = "off" if before == "on" else "on"
    assert [row["state"] for row in result["changed"] if row["entity"] == "light.bed_light"] == [wanted]
    event = next(e for e in events if e["data"]["entity"] == "light.bed_light")
    assert (event["data"]["before"], event["data"]["state"]) == (before, wanted)
    assert state(home, "light.bed_light")["state"] == wanted
    assert connected.call("ha_get_state", entity="bed light")["state"] == wanted


def test_a_change_made_in_home_assistant_is_seen(connected, home):
    events = connected.listen("ha:state")
    before = state(home, "switch.ac")["state"]
    asyncio.run(home.rest("POST", "/api/services/switch/toggle", {"entity_id": "switch.ac"}))
    event = next(e for e in events if e["data"]["entity"] == "switch.ac")
    assert event["data"]["before"] == before != event["data"]["state"]


def test_fields_are_checked_against_the_services_there_are(connected):
    call = connected.call
    result = call("ha_call_service", domain="light", service="turn_on", entity="Kitchen Lights", data={"brightness_pct": 40})
    assert call("ha_get_state", entity="light.kitchen_lights")["attributes"]["brightness"] == 102, result
    for arguments, why in [
        ({"domain": "light", "service": "explode", "entity": "light.bed_light"}, "has no service `explode`"),
        ({"domain": "rocket", "service": "turn_on"}, "has no domain `rocket`"),
        ({"domain": "light", "service": "turn_on", "entity": "light.no_such"}, "no (single )?entity"),
        ({"domain": "light", "service": "turn_on"}, "needs an `entity`"),
        ({"domain": "light", "service": "turn_on", "entity": "all"}, "name each entity"),
        ({"domain": "light", "service": "turn_on", "entity": "light.bed_light", "data": {"volume": 1}}, "has no field `volume`"),
        ({"domain": "light", "service": "turn_on", "entity": "light.bed_light", "data": {"area_id": "hall"}}, "leave `area_id` out"),
        ({"domain": "homeassistant", "service": "stop"}, "never calls"),
        ({"domain": "homeassistant", "service": "turn_on", "entity": "lock.front_door"}, "never calls"),
        ({"domain": "light", "service": "turn_on", "entity": "light.bed_light", "data": {"brightness_pct": "loud"}}, "refused"),
    ]:
        with pytest.raises(RuntimeError, match=why):
            call("ha_call_service", **arguments)


def test_by_hand_a_lock_is_opened_without_a_question(connected, home):
    connected.call("ha_call_service", domain="lock", service="unlock", entity="lock.front_door")
    assert connected.call("ha_get_state", entity="lock.front_door")["state"] in ("unlocked", "unlocking")
    connected.call("ha_call_service", domain="lock", service="lock", entity="lock.front_door")
    end = time.monotonic() + 10
    while state(home, "lock.front_door")["state"] != "locked":
        assert time.monotonic() < end


@pytest.mark.parametrize("tool, arguments", [
    ("ha_call_service", {"domain": "lock", "service": "unlock", "entity": "lock.front_door"}),
    ("ha_call_service", {"domain": "lock", "service": "unlock", "entity": "Front Door"}),
    ("ha_call_service", {"domain": "cover", "service": "open_cover", "entity": "cover.garage_door"}),
    ("ha_call_service", {"domain": "script", "service": "let_me_in"}),
    ("ha_call_service", {"domain": "scene", "service": "apply", "data": {"entities": {"lock.front_door": "unlocked"}}}),
    ("ha_call_service", {"domain": "alarm_control_panel", "service": "alarm_disarm", "entity": "alarm_control_panel.security"}),
    ("ha_run", {"script": "let me in"}),
    ("ha_converse", {"text": "unlock the front door"}),
    ("control_thing", {"thing": "ha:lock.front_door", "action": "unlock"}),
])
def test_what_a_program_calls_opens_nothing_unasked(connected, home, tool, arguments):
    code = f"return await utils.callTool({json.dumps(tool)}, {json.dumps(arguments)});"
    draft = {"name": "trial", "description": "For a test.", "parameters": {"type": "object", "properties": {}}, "code": code}
    before = [state(home, entity)["state"] for entity in ("lock.front_door", "cover.garage_door")]
    status, answer = connected.request("POST", "/api/v1/custom-tools/test", draft)
    assert "nobody answered" in json.dumps(answer), answer
    assert [state(home, entity)["state"] for entity in ("lock.front_door", "cover.garage_door")] == before == ["locked", "closed"]


def test_a_program_may_turn_on_a_light(connected, home):
    code = "return await utils.callTool('ha_call_service', {domain: 'light', service: 'turn_on', entity: 'light.bed_light'});"
    draft = {"name": "trial", "description": "For a test.", "parameters": {"type": "object", "properties": {}}, "code": code}
    status, answer = connected.request("POST", "/api/v1/custom-tools/test", draft)
    assert not answer["data"]["isError"] and state(home, "light.bed_light")["state"] == "on", answer


def test_scenes_scripts_events_and_sentences(connected, home):
    connected.call("ha_call_service", domain="light", service="turn_off", entity="light.bed_light")
    connected.call("ha_run", scene="Reading")
    assert connected.call("ha_get_state", entity="light.bed_light")["state"] == "on"
    connected.call("ha_call_service", domain="light", service="turn_on", entity="light.ceiling_lights")
    connected.call("ha_run", script="movie time")
    end = time.monotonic() + 10
    while connected.call("ha_get_state", entity="light.ceiling_lights")["state"] != "off":
        assert time.monotonic() < end
    assert connected.call("ha_fire_event", event_type="hob_button", data={"press": "long"}) == {"fired": "hob_button"}
    for kind, why in [("state_changed", "Home Assistant itself"), ("zha_event", "may not fire"), ("a/../b", "letters")]:
        with pytest.raises(RuntimeError, match=why):
            connected.call("ha_fire_event", event_type=kind)
    answer = connected.call("ha_converse", text="turn off the bed light")
    assert answer["type"] == "action_done" and connected.call("ha_get_state", entity="light.bed_light")["state"] == "off"


def test_history_is_summed_up(connected, home):
    for service in ("turn_on", "turn_off"):
        connected.call("ha_call_service", domain="switch", service=service, entity="switch.ac")
    end = time.monotonic() + 20
    while True:
        lately = connected.call("ha_get_history", entity="switch.ac", hours=1)
        if len(lately["changes"]) >= 2:
            break
        assert time.monotonic() < end, lately
        time.sleep(0.2)
    assert set(lately["seconds_in_state"]) <= {"on", "off", "unavailable", "unknown"}
    outside = connected.call("ha_get_history", entity="sensor.outside_temperature")
    assert outside["min"] == outside["max"] == 15.6 and outside["unit"] == "°C"


def test_entities_are_things(connected, home):
    things = connected.call("list_things", query="kitchen lights")
    assert "ha:light.kitchen_lights" in json.dumps(things), things
    connected.call("control_thing", thing="ha:light.kitchen_lights", action="turn_off")
    assert state(home, "light.kitchen_lights")["state"] == "off"
    connected.call("control_thing", thing="kitchen lights", action="set_level", level=30)
    assert abs(state(home, "light.kitchen_lights")["attributes"]["brightness"] - 77) <= 1
    connected.call("control_thing", thing="ha:climate.heatpump", action="set_temperature", temperature=22)
    assert state(home, "climate.heatpump")["attributes"]["temperature"] == 22


def test_new_names_and_rooms_are_followed(connected, home):
    [areas] = ws(home, {"type": "config/area_registry/list"})
    garage = next(area["area_id"] for area in areas if area["name"] == "Garage")
    ws(home, {"type": "config/entity_registry/update", "entity_id": "light.bed_light", "name": "Moon lamp", "area_id": garage})
    end = time.monotonic() + 20
    while True:
        found = connected.call("ha_find_entities", query="moon lamp")["entities"]
        if found and found[0].get("area") == "Garage":
            break
        assert time.monotonic() < end, found
        time.sleep(0.1)


def test_lists_of_the_entry_limit_what_is_read_and_done(connected, home):
    def change(**fields):
        status, answer = connected.request("PATCH", "/api/v1/config-services/home_assistant/entries/default", {"fields": fields})
        assert status == 200, answer
        connected.wait_for_state("connected")

    change(read="!lock, !person", act="switch")
    with pytest.raises(RuntimeError, match="no (single )?entity"):
        connected.call("ha_get_state", entity="lock.front_door")
    assert not connected.call("ha_find_entities", domain="lock")["entities"]
    with pytest.raises(RuntimeError, match="may not control"):
        connected.call("ha_call_service", domain="light", service="turn_on", entity="light.ceiling_lights")
    connected.call("ha_call_service", domain="switch", service="turn_on", entity="switch.ac")
    change(read=None, act=None)


def test_home_assistant_restarts(connected, home):
    events = connected.listen("ha:connection")
    home.stop(signal.SIGKILL)
    connected.wait_for_state("lost")
    with pytest.raises(RuntimeError, match="cannot be reached"):
        connected.call("ha_call_service", domain="light", service="turn_on", entity="light.ceiling_lights")
    assert "unavailable" in json.dumps(connected.call("list_things", query="ceiling lights"))
    subprocess.run([HERE / "ha", "restart", "--dir", home.folder], check=True, stdout=subprocess.DEVNULL, timeout=240)
    home.about = json.loads((home.folder / "ha.json").read_text())
    connected.wait_for_state("connected", 90)
    end = time.monotonic() + 30
    while True:
        try:
            connected.call("ha_call_service", domain="light", service="turn_on", entity="light.ceiling_lights")
            break
        except RuntimeError:
            assert time.monotonic() < end
            time.sleep(0.2)
    assert [next(events)["data"]["state"] for _ in range(2)][0] == "lost"


def test_rules_see_each_change_once_over_restarts(connected, home):
    """That Home Assistant, or Hob, was away for a while is no change of a lamp that is on before and after."""
    lamp = "light.ceiling_lights"
    rules = [
        connected.call("create_rule", name=name, triggers=[trigger], actions=[{"type": "pin", "pin": 17, "toggle": True}])["id"]
        for name, trigger in [("Entity", {"type": "ha", "entity": lamp, "to": "on"}),
                              ("Thing", {"type": "thing", "thing": f"ha:{lamp}", "to": "on"})]
    ]

    def switched(times):
        events = connected.listen("thing:changed")
        for service in ("turn_off", "turn_on"):
            connected.call("ha_call_service", domain="light", service=service, entity=lamp)
            next(e for e in events if (e["data"]["thing"], e["data"]["value"]) == (f"ha:{lamp}", service[5:]))
        end = time.monotonic() + 20
        while (runs := [connected.call("get_rule", ruleId=rule)["fired"] for rule in rules]) != [times, times]:
            assert time.monotonic() < end and max(runs) <= times, runs

    switched(1)
    home.stop(signal.SIGKILL)
    connected.wait_for_state("lost")
    subprocess.run([HERE / "ha", "restart", "--dir", home.folder], check=True, stdout=subprocess.DEVNULL, timeout=240)
    home.about = json.loads((home.folder / "ha.json").read_text())
    connected.wait_for_state("connected", 90)
    assert state(home, lamp)["state"] == "on"
    switched(2)
    connected.kill()
    connected.start()
    connected.wait_for_state("connected", 90)
    assert state(home, lamp)["state"] == "on"
    switched(3)
    for rule in rules:
        connected.call("delete_rule", ruleId=connected.call("get_rule", ruleId=rule)["name"])


def test_a_process_that_hangs_is_noticed_and_recovered(connected, home):
    os.kill(home.pid, signal.SIGSTOP)
    try:
        connected.wait_for_state("lost", 75)
    finally:
        os.kill(home.pid, signal.SIGCONT)
    connected.wait_for_state("connected", 90)


def test_memory_is_steady(connected, home):
    resident = connected.resident

    async def churn(rounds):
        for n in range(rounds):
            await asyncio.gather(*[home.rest("POST", f"/api/states/sensor.churn_{i}", {"state": str(n)}) for i in range(50)])

    asyncio.run(churn(10))
    before = resident()
    asyncio.run(churn(40))
    end = time.monotonic() + 20
    while connected.call("ha_get_state", entity="sensor.churn_49")["state"] != "39":
        assert time.monotonic() < end
    assert resident() - before < 16_000, (before, resident())


def test_a_revoked_token_is_said_and_not_tried_again(connected, home):
    [tokens] = ws(home, {"type": "auth/refresh_tokens"})
    lasting = next(t for t in tokens if t["type"] == "long_lived_access_token")
    # A second one for the tests, since deleting a token ends its connections.
    [second] = ws(home, {"type": "auth/long_lived_access_token", "client_name": "tests", "lifespan": 1})
    asyncio.run(home.ws({"type": "auth/delete_refresh_token", "refresh_token_id": lasting["id"]}, token=second))
    status = connected.wait_for_state("token_refused")
    assert "enter a new one in the Config Center" in status["hint"]
    with pytest.raises(RuntimeError, match="refuses the token"):
        connected.call("ha_get_state", entity="switch.ac")
    home.about["token"] = second
    status, answer = connected.request(
        "PATCH", "/api/v1/config-services/home_assistant/entries/default", {"fields": {"token": second}})
    assert status == 200, answer
    connected.wait_for_state("connected")


def test_without_the_entry_it_is_gone(connected):
    status, _ = connected.request("DELETE", "/api/v1/config-services/home_assistant/entries/default")
    assert status == 200
    assert "ha:" not in json.dumps(connected.call("list_things"))
    with pytest.raises(RuntimeError):
        connected.call("ha_get_state", entity="switch.ac")
