"""OpenAI's own client against the real daemon, without a model and with a scripted one behind it."""

import json

import openai
import pytest
from daemon import TOKEN, running
from pydantic import BaseModel
from scripted import Model, calls, says

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


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
    assert [m.id for m in reflex.models.list()] == ["hob", "reflex", "all-MiniLM-L6-v2"]
    client, _ = modelled
    assert [m.id for m in client.models.list()] == ["hob", "custom/scripted", "all-MiniLM-L6-v2"]
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


class Person(BaseModel):
    name: str
    age: int


EVE = '{"name": "Eve", "age": 7}'


def test_structured_output(reflex, modelled):
    client, model = modelled
    ask = {"model": "hob", "messages": [user("who is it?")], "response_format": Person}
    # Wrong the first time: Hob has it corrected.
    model.script = [says('{"name": "Eve"}'), says(EVE)]
    assert client.chat.completions.parse(**ask).choices[0].message.parsed == Person(name="Eve", age=7)
    assert model.asked[-1]["response_format"]["json_schema"]["strict"] is True
    model.script = [calls("calculate", expression="3+4"), says(EVE)]
    with client.chat.completions.stream(**ask) as stream:
        stream.until_done()
        assert stream.get_final_completion().choices[0].message.parsed.age == 7
    model.script = [says("no idea"), says("none at all")]
    with pytest.raises(openai.APIStatusError) as refused:
        client.chat.completions.parse(**ask)
    assert "format" in refused.value.message
    with pytest.raises(openai.BadRequestError) as refused:
        reflex.chat.completions.parse(**ask)
    assert refused.value.param == "response_format"


def test_responses(modelled):
    client, model = modelled
    model.script = [says("It is 42."), says(EVE), says("It is ", "42.")]
    said = client.responses.create(model="hob", instructions="Be brief.", input="6*7?", max_output_tokens=50)
    assert said.output_text == "It is 42." and said.status == "completed" and said.usage.total_tokens == 7
    assert client.responses.parse(model="hob", input="who?", text_format=Person).output_parsed.name == "Eve"
    with client.responses.stream(model="hob", input="6*7?") as stream:
        kinds = [event.type for event in stream]
        assert stream.get_final_response().output_text == "It is 42."
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
    tool = {"type": "function", "strict": False, **WEATHER["function"]}
    model.script = [calls("get_weather", city="Graz"), says("Sun.")]
    items = [{"role": "user", "content": "how is it in Graz?"}]
    first = client.responses.create(model="hob", input=items, tools=[tool])
    [call] = first.output
    assert call.type == "function_call" and json.loads(call.arguments) == {"city": "Graz"}
    items += first.output + [{"type": "function_call_output", "call_id": call.call_id, "output": "sun"}]
    assert client.responses.create(model="hob", input=items, tools=[tool]).output_text == "Sun."
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="hob", input="and now?", previous_response_id=first.id)
    assert refused.value.param == "previous_response_id"


def test_embeddings(reflex):
    # The client asks for base64 by itself, and decodes it.
    made = reflex.embeddings.create(model="all-MiniLM-L6-v2", input=["the boiler", "a heating", "Paris"])
    one, two, three = (e.embedding for e in made.data)
    plain = reflex.embeddings.create(model="all-MiniLM-L6-v2", input="the boiler", encoding_format="float")
    assert len(one) == 384 and all(abs(a - b) < 1e-6 for a, b in zip(one, plain.data[0].embedding))
    near = lambda a, b: sum(x * y for x, y in zip(a, b))  # noqa: E731
    assert near(one, two) > near(one, three) and made.usage.total_tokens > 6
    with pytest.raises(openai.BadRequestError):
        reflex.embeddings.create(model="all-MiniLM-L6-v2", input="a", dimensions=64)


def test_refusals_of_the_model_are_typed(modelled):
    client, model = modelled
    for script, error, code in [
        ({"status": 429, "error": "slow down", "after": "60"}, openai.RateLimitError, "rate_limit_exceeded"),
        ({"status": 400, "error": "the context length is exceeded"}, openai.BadRequestError, "context_length_exceeded"),
        ({"status": 400, "error": "'seed' is not supported"}, openai.BadRequestError, "unsupported_parameter"),
    ]:
        model.script = [[script]]
        with pytest.raises(error) as refused:
            client.chat.completions.create(model="hob", messages=[user("what do you think of baroque music")], seed=1)
        assert refused.value.code == code
