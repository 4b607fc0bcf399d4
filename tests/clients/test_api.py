"""A program in Python against the real daemon: tokens, tools, chat whole and streamed, custom tools, events."""

import json
import threading

import httpx
import pytest
from daemon import TOKEN, running


@pytest.fixture(scope="module")
def hob(tmp_path_factory):
    with running(tmp_path_factory.mktemp("hob")) as url:
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as client:
            yield client


def data(response, status=200):
    assert response.status_code == status, response.text
    body = response.json()
    assert body["success"] is True and body["meta"]["requestId"] and body["meta"]["timestamp"]
    return body["data"]


def events(response):
    name = None
    for line in response.iter_lines():
        if line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            yield name, json.loads(line[5:])


def test_health_is_public_and_the_rest_is_not(hob):
    stranger = httpx.Client(base_url=hob.base_url)
    assert stranger.get("/healthz").json()["status"] == "ok"
    for path in ["/api/v1/tools", "/api/v1/session", "/api/v1/nothing"]:
        refused = stranger.get(path)
        assert refused.status_code == 401 and refused.json()["error"]["code"] == "unauthorized"


def test_chat_whole_and_continued(hob):
    first = data(hob.post("/api/v1/chat", json={"message": "remember that the ladder is in the shed"}))
    assert first["model"] == "reflex" and first["toolCalls"][0]["name"] == "remember"
    again = {"message": "where is the ladder?", "conversationId": first["conversationId"]}
    second = data(hob.post("/api/v1/chat", json=again))
    assert "shed" in second["response"] and second["conversationId"] == first["conversationId"]
    stored = data(hob.get(f"/api/v1/conversations/{first['conversationId']}"))
    assert [m["role"] for m in stored["messages"]] == ["user", "assistant", "tool", "assistant"] * 2


def test_chat_streamed(hob):
    body = {"message": [{"type": "text", "text": "what is 6 * 7?"}], "stream": True}
    with hob.stream("POST", "/api/v1/chat", json=body) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        heard = list(events(response))
    names = [name for name, _ in heard]
    assert names[0] == "run" and names[-1] == "done"
    assert names.index("tool_start") < names.index("tool_end") < names.index("text")
    said = "".join(d["delta"] for name, d in heard if name == "text")
    assert "42" in said and heard[-1][1]["response"] == said


def test_custom_tool_from_cradle_to_grave(hob):
    draft = {
        "name": "shout",
        "description": "Say it loudly",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "code": "return args.text.toUpperCase() + '!'",
        "createdBy": "user",
    }
    made = data(hob.post("/api/v1/custom-tools", json=draft), 201)
    assert made["status"] == "active" and made["version"] == 1
    ran = data(hob.post(f"/api/v1/custom-tools/{made['id']}/execute", json={"arguments": {"text": "hey"}}))
    assert ran["result"] == "HEY!" and ran["isError"] is False
    assert data(hob.post("/api/v1/tools/shout/execute", json={"arguments": {"text": "a"}}))["result"] == "A!"
    assert data(hob.delete(f"/api/v1/custom-tools/{made['id']}")) == {"deleted": True}
    assert hob.get(f"/api/v1/custom-tools/{made['id']}").status_code == 404


def test_events_tell_of_a_pin_and_catch_up(hob):
    heard = []
    ready = threading.Event()

    def listen():
        with hob.stream("GET", "/api/v1/events") as response:
            ready.set()
            for name, event in events(response):
                heard.append(event)
                if name == "pin:changed":
                    return

    listener = threading.Thread(target=listen)
    listener.start()
    assert ready.wait(20)
    data(hob.post("/api/v1/tools/gpio_write/execute", json={"arguments": {"pin": 5, "high": True}}))
    listener.join(20)
    assert not listener.is_alive()
    last = heard[-1]
    assert last["data"] == {"pin": 5, "high": True}
    with hob.stream("GET", "/api/v1/events", params={"after": last["seq"] - 1}) as response:
        _, missed = next(events(response))
    assert missed["seq"] == last["seq"]
