"""OpenAI's own client against the real daemon, without a model and with a scripted one behind it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai
import pytest
from daemon import TOKEN, running

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class Model(ThreadingHTTPServer):
    """A model that gives the deltas it was told to give, one list a request, and keeps what it was asked."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.asked = [], []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        deltas = self.server.script.pop(0)
        if "status" in deltas[0]:
            self.send_response(deltas[0]["status"])
            self.send_header("content-length", "0")
            return self.end_headers()
        reason = "tool_calls" if any("tool_calls" in d for d in deltas) else "stop"
        chunks = [d if "error" in d else {"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        chunks.append({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}})
        lines = [f"data: {json.dumps(c)}\n\n" for c in chunks] + ["data: [DONE]\n\n"]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write("".join(lines).encode())

    def log_message(self, *_):
        pass


def says(*words):
    return [{"content": word} for word in words]


def calls(name, /, **arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [{"tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": function}]}]


def client_of(url):
    return openai.OpenAI(base_url=f"{url}/v1", api_key=TOKEN, max_retries=0, timeout=60)


@pytest.fixture(scope="module")
def reflex(tmp_path_factory):
    with running(tmp_path_factory.mktemp("reflex")) as url, client_of(url) as client:
        yield client


@pytest.fixture(scope="module")
def modelled(tmp_path_factory):
    model = Model()
    address = f"http://127.0.0.1:{model.server_port}/v1"
    folder = tmp_path_factory.mktemp("model")
    with running(folder, HOB_MODEL="custom/scripted", HOB_LLM_URL=address) as url, client_of(url) as client:
        yield client, model
    model.shutdown()


def user(text):
    return {"role": "user", "content": text}


def test_models(reflex, modelled):
    assert [m.id for m in reflex.models.list()] == ["hob", "reflex"]
    client, _ = modelled
    assert [m.id for m in client.models.list()] == ["hob", "custom/scripted"]
    one = client.models.retrieve("custom/scripted")
    assert one.id == "custom/scripted" and one.object == "model" and one.owned_by == "hob"


def test_plain(reflex, modelled):
    said = reflex.chat.completions.create(model="hob", messages=[user("turn on pin 7")])
    assert said.choices[0].message.content == "Pin 7 is on." and said.choices[0].finish_reason == "stop"
    client, model = modelled
    model.script = [calls("calculate", expression="6*7"), says("It is ", "42.")]
    system = {"role": "system", "content": "Be brief."}
    said = client.chat.completions.create(model="custom/scripted", messages=[system, user("6*7?")], temperature=0)
    assert said.object == "chat.completion" and said.model == "custom/scripted"
    assert said.choices[0].message.content == "It is 42." and said.choices[0].message.tool_calls is None
    assert (said.usage.prompt_tokens, said.usage.completion_tokens, said.usage.total_tokens) == (6, 8, 14)
    assert "Be brief." in model.asked[-1]["messages"][0]["content"]
    assert "42" in model.asked[-1]["messages"][-1]["content"]


def test_streamed(reflex, modelled):
    client, model = modelled
    model.script = [says("It is ", "42.")]
    heard = list(
        client.chat.completions.create(
            model="hob", messages=[user("6*7?")], stream=True, stream_options={"include_usage": True}
        )
    )
    words = [c.choices[0].delta.content for c in heard if c.choices and c.choices[0].delta.content]
    assert "".join(words) == "It is 42." and len(words) == 2 and heard[0].choices[0].delta.role == "assistant"
    assert heard[-1].choices == [] and heard[-1].usage.total_tokens == 7
    assert heard[-2].choices[0].finish_reason == "stop" and len({c.id for c in heard}) == 1
    # The client's own way of gathering a stream into a whole.
    with reflex.chat.completions.stream(model="hob", messages=[user("turn off pin 7")]) as stream:
        stream.until_done()
        assert stream.get_final_completion().choices[0].message.content == "Pin 7 is off."


@pytest.mark.parametrize("streamed", [False, True])
def test_tools_there_and_back(modelled, streamed):
    client, model = modelled
    model.script = [calls("remember", content="it is asked about Graz"), calls("get_weather", city="Graz"), says("Sun.")]
    messages = [user("how is the weather in Graz?")]
    if streamed:
        with client.chat.completions.stream(model="hob", messages=messages, tools=[WEATHER]) as stream:
            choice = stream.get_final_completion().choices[0]
    else:
        choice = client.chat.completions.create(model="hob", messages=messages, tools=[WEATHER]).choices[0]
    assert choice.finish_reason == "tool_calls"
    [call] = choice.message.tool_calls
    assert call.function.name == "get_weather" and json.loads(call.function.arguments) == {"city": "Graz"}
    messages += [choice.message, {"role": "tool", "tool_call_id": call.id, "content": "sun, 21 °C"}]
    done = client.chat.completions.create(model="hob", messages=messages, tools=[WEATHER]).choices[0]
    assert done.finish_reason == "stop" and done.message.content == "Sun."
    shown = [m for m in model.asked[-1]["messages"] if m["role"] == "tool"]
    assert len(shown) == 2 and shown[1]["content"] == "sun, 21 °C", "what Hob did itself is in its place"


def test_refusals_are_typed(reflex, modelled):
    stranger = reflex.with_options(api_key="sk-wrong")
    with pytest.raises(openai.AuthenticationError) as refused:
        stranger.models.list()
    assert refused.value.code == "invalid_api_key" and "Bearer" in refused.value.message
    with pytest.raises(openai.NotFoundError) as refused:
        reflex.chat.completions.create(model="gpt-9", messages=[user("hi")])
    assert refused.value.code == "model_not_found" and refused.value.param == "model"
    with pytest.raises(openai.NotFoundError):
        reflex.models.retrieve("gpt-9")
    with pytest.raises(openai.BadRequestError) as refused:
        reflex.chat.completions.create(model="hob", messages=[user("hi")], n=2)
    assert refused.value.param == "n" and refused.value.type == "invalid_request_error"
    # What goes wrong behind Hob: told by the status where nothing was said yet, and within a stream where something was.
    client, model = modelled
    refusing, failing = [{"status": 401}], [*says("half"), {"error": {"message": "overloaded"}}]
    for script, error, part in [(refusing, openai.APIStatusError, "key"), (failing, openai.APIError, "overloaded")]:
        model.script = [script]
        with pytest.raises(error) as refused:
            list(client.chat.completions.create(model="hob", messages=[user("hi")], stream=True))
        assert part in refused.value.message and refused.value.code == "model"
