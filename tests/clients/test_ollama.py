"""Ollama's own client against the real daemon, and the calls that Home Assistant's integration makes with it."""

import asyncio
import base64
import json
import math

import httpx
import ollama
import pytest
from daemon import TOKEN, running
from prometheus_client.parser import text_string_to_metric_families
from test_openai import Model, calls, says

HEADERS = {"Authorization": f"Bearer {TOKEN}"}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    model = Model()
    address = f"http://127.0.0.1:{model.server_port}/v1"
    folder = tmp_path_factory.mktemp("ollama")
    with running(folder, HOB_MODEL="custom/scripted", HOB_LLM_URL=address) as url:
        yield url, model
    model.shutdown()


@pytest.fixture
def client(door):
    return ollama.Client(host=door[0], headers=HEADERS)


def user(text):
    return {"role": "user", "content": text}


def test_models(client):
    assert [m.model for m in client.list().models] == ["hob:latest"]
    assert [m.model for m in client.ps().models] == ["hob:latest"]
    shown = client.show("hob")
    assert "tools" in shown.capabilities and shown.modelinfo["general.architecture"] == "hob"
    with pytest.raises(ollama.ResponseError, match="model 'llama3' not found") as refused:
        client.show("llama3")
    assert refused.value.status_code == 404


def test_chat(client, door):
    _, model = door
    model.script = [calls("calculate", expression="6*7"), says("It is ", "42.")]
    system = {"role": "system", "content": "Be brief."}
    said = client.chat("hob", [system, user("6*7?")], options={"temperature": 0, "num_predict": 50, "num_ctx": 4096})
    assert said.message.role == "assistant" and said.message.content == "It is 42." and not said.message.tool_calls
    assert said.done and said.done_reason == "stop" and said.model == "hob"
    assert (said.prompt_eval_count, said.eval_count) == (6, 8) and said.total_duration > 0
    asked = model.asked[-1]
    assert "Be brief." in asked["messages"][0]["content"] and asked["temperature"] == 0 and asked["max_tokens"] == 50


def test_streamed(client, door):
    _, model = door
    model.script = [says("It is ", "42.")]
    parts = list(client.chat("hob:latest", [user("6*7?")], stream=True))
    assert "".join(p.message.content for p in parts) == "It is 42." and len(parts) == 3
    assert [p.done for p in parts] == [False, False, True] and parts[-1].eval_count == 4


def test_tools(client, door):
    _, model = door

    def get_weather(city: str) -> str:
        """The weather in a city.

        Args:
          city: Its name.
        """
        return "It rains."

    model.script = [calls("get_weather", city="Bergen"), says("It rains in Bergen.")]
    messages = [user("what is the weather in Bergen?")]
    first = client.chat("hob", messages, tools=[get_weather])
    (call,) = first.message.tool_calls
    assert (call.function.name, call.function.arguments) == ("get_weather", {"city": "Bergen"})
    assert any(t["function"]["name"] == "get_weather" for t in model.asked[-1]["tools"])
    messages += [first.message, {"role": "tool", "tool_name": "get_weather", "content": get_weather(**call.function.arguments)}]
    assert client.chat("hob", messages, tools=[get_weather]).message.content == "It rains in Bergen."
    assert model.asked[-1]["messages"][-1]["content"].endswith("It rains.")


def test_generate_and_images(client, door):
    _, model = door
    model.script = [says("A dot."), says("A ", "dot.")]
    said = client.generate("hob", "what is this?", system="Be brief.", images=[PNG])
    assert said.response == "A dot." and said.done
    assert "Be brief." in model.asked[-1]["messages"][0]["content"]
    kinds = [part["type"] for part in model.asked[-1]["messages"][-1]["content"]]
    assert "image_url" in kinds
    assert "".join(p.response for p in client.generate("hob", "again?", stream=True)) == "A dot."
    # An empty prompt loads the model.
    assert client.generate("hob", "", keep_alive="5m").done_reason == "load"


def test_refusals(client, door):
    url, model = door
    with pytest.raises(ollama.ResponseError, match="temperature") as refused:
        client.chat("hob", [user("hi")], options={"temperature": 9})
    assert refused.value.status_code == 400
    with pytest.raises(ollama.ResponseError, match="who are you") as refused:
        ollama.Client(host=url).list()
    assert refused.value.status_code == 401
    model.script = [[{"status": 400}]]
    with pytest.raises(ollama.ResponseError) as refused:
        client.chat("hob", [user("hi")])
    assert refused.value.status_code == 424
    model.script = [[{"content": "half"}, {"error": {"message": "it broke"}}]]
    heard = []
    with pytest.raises(ollama.ResponseError):
        heard.extend(p.message.content for p in client.chat("hob", [user("hi")], stream=True))
    with pytest.raises(ollama.ResponseError):
        client.pull("llama3")


def test_home_assistant(door):
    """The calls of its Ollama integration: list at set-up; then a loop of streamed chats with tools until none is called."""
    url, model = door
    on = {
        "type": "function",
        "function": {
            "name": "HassTurnOn",
            "description": "Turns on/opens a device or entity",
            "parameters": {"type": "object", "properties": {"name": {"type": "string"}, "area": {"type": "string"}}},
        },
    }

    async def converse():
        client = ollama.AsyncClient(host=url, headers=HEADERS)
        models = (await client.list())["models"]
        assert models[0]["model"] == "hob:latest"
        messages = [
            ollama.Message(role="system", content="You are a voice assistant for Home Assistant."),
            ollama.Message(role="user", content="turn on the lamp"),
        ]
        for _ in range(10):
            stream = await client.chat(
                model="hob:latest",
                messages=list(messages),
                tools=[on],
                stream=True,
                keep_alive="-1s",
                options={"num_ctx": 8192},
                think=False,
                format=None,
            )
            words, made = "", []
            async for response in stream:
                message = response["message"]
                assert message["role"] == "assistant"
                made += message.get("tool_calls") or []
                words += message.get("content") or ""
            # It drops what is empty, and keeps no ids.
            made = [
                ollama.Message.ToolCall(
                    function=ollama.Message.ToolCall.Function(
                        name=call["function"]["name"],
                        arguments={k: v for k, v in call["function"]["arguments"].items() if v},
                    )
                )
                for call in made
            ]
            messages.append(ollama.Message(role="assistant", content=words, tool_calls=made or None))
            if not made:
                return words
            messages += [ollama.Message(role="tool", content=json.dumps({"success": True})) for _ in made]

    model.script = [
        calls("calculate", expression="1+1"),
        calls("HassTurnOn", name="lamp", area=""),
        says("The lamp ", "is on."),
    ]
    assert asyncio.run(converse()) == "The lamp is on."
    last = model.asked[-1]["messages"]
    assert "voice assistant" in last[0]["content"]
    results = [m["content"] for m in last if m["role"] == "tool"]
    assert len(results) == 2 and "2" in results[0] and "success" in results[1], "what Hob did itself is put back"


def test_metrics(door):
    url, _ = door
    answer = httpx.get(f"{url}/metrics", headers=HEADERS)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    kinds = {name: family.type for name, family in families.items()}
    assert kinds["hob_http_requests"] == "counter" and kinds["hob_runs_running"] == "gauge"
    for family in families.values():
        assert family.documentation.endswith(".") and family.type in ("counter", "gauge"), family.name
        for sample in family.samples:
            assert math.isfinite(sample.value) and sample.value >= 0 or sample.name == "hob_temperature_celsius", sample
    tokens = {(s.labels["model"], s.labels["kind"]): s.value for s in families["hob_model_tokens"].samples}
    assert tokens[("custom/scripted", "input")] > 0
    assert any(s.labels["route"] == "/api/chat" for s in families["hob_http_requests"].samples)
