"""LiteLLM and LangChain against the real daemon. They need an older `openai` than the other clients, and so a venv of their own."""

import os
import sys
from pathlib import Path

# Nothing is fetched from the network.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["LANGSMITH_TRACING"] = "false"
sys.path.insert(0, str(Path(__file__).parent.parent / "clients"))

import litellm  # noqa: E402
import pytest  # noqa: E402
from daemon import TOKEN, running  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langchain_openai import ChatOpenAI, OpenAIEmbeddings  # noqa: E402
from pydantic import BaseModel  # noqa: E402
from scripted import Model, calls, says  # noqa: E402

litellm.telemetry = False
litellm.suppress_debug_info = True
# Nothing that Hob could answer without its model.
ASKED = [{"role": "user", "content": "what do you think of baroque music"}]
EVE = '{"name": "Eve", "age": 7}'


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"sun in {city}"


@pytest.fixture(scope="module")
def hob(tmp_path_factory):
    model = Model()
    address = f"http://127.0.0.1:{model.server_port}/v1"
    folder = tmp_path_factory.mktemp("model")
    config = {"HOB_MODEL": "custom/scripted", "HOB_LLM_URL": address}
    with running(folder, **config) as url:
        yield f"{url}/v1", model
    model.shutdown()


def complete(url, **more):
    more = {"model": "openai/hob", "messages": ASKED, "api_key": TOKEN, "num_retries": 0, "max_retries": 0, **more}
    return litellm.completion(api_base=url, timeout=60, **more)


def test_litellm_answers(hob):
    url, model = hob
    model.script = [says("Hello."), says("one E", "ND two"), says(EVE), calls("get_weather", city="Graz")]
    said = complete(url, temperature=0.1, max_tokens=50, seed=1)
    assert said.choices[0].message.content == "Hello." and said.usage.total_tokens == 7
    assert (model.asked[-1]["temperature"], model.asked[-1]["seed"]) == (0.1, 1)
    words = [c.choices[0].delta.content or "" for c in complete(url, stream=True, stop=["END"])]
    assert "".join(words) == "one "
    assert Person.model_validate_json(complete(url, response_format=Person).choices[0].message.content).age == 7
    function = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
    said = complete(url, tools=[{"type": "function", "function": function}])
    assert said.choices[0].message.tool_calls[0].function.name == "get_weather"


def test_litellm_knows_what_is_wrong(hob):
    url, model = hob
    with pytest.raises(litellm.AuthenticationError):
        complete(url, api_key="sk-wrong")
    with pytest.raises(litellm.NotFoundError):
        complete(url, model="openai/gpt-9")
    with pytest.raises(litellm.BadRequestError):
        complete(url, n=2)
    for script, error in [
        ({"status": 429, "error": "slow down", "after": "60"}, litellm.RateLimitError),
        ({"status": 400, "error": "the context length is exceeded"}, litellm.ContextWindowExceededError),
        ({"status": 400, "error": "'seed' is not supported"}, litellm.BadRequestError),
    ]:
        model.script = [[script]]
        with pytest.raises(error):
            complete(url, seed=1)


def test_litellm_embeds(hob):
    url, _ = hob
    made = litellm.embedding(model="openai/all-MiniLM-L6-v2", input=["a", "b"], api_base=url, api_key=TOKEN)
    assert len(made.data) == 2 and len(made.data[0]["embedding"]) == 384


@pytest.mark.parametrize("responses", [False, True])
def test_langchain(hob, responses):
    url, model = hob
    chat = ChatOpenAI(base_url=url, api_key=TOKEN, model="hob", max_retries=0, use_responses_api=responses)
    model.script = [says("Hello.")]
    assert chat.invoke("hi").text == "Hello."
    model.script = [says("It is ", "42.")]
    assert "".join(chunk.text for chunk in chat.stream("6*7?")) == "It is 42."
    model.script = [calls("get_weather", city="Graz")]
    [call] = chat.bind_tools([get_weather]).invoke("how is it in Graz?").tool_calls
    assert call["name"] == "get_weather" and call["args"] == {"city": "Graz"}
    for method in ["json_schema", "function_calling", "json_mode"]:
        answer = calls("Person", name="Eve", age=7) if method == "function_calling" else says(EVE)
        model.script = [answer]
        structured = chat.with_structured_output(Person, method=method)
        assert structured.invoke("who is it? Answer in JSON.") == Person(name="Eve", age=7), method


def test_langchain_embeds(hob):
    url, _ = hob
    options = {"model": "all-MiniLM-L6-v2", "check_embedding_ctx_length": False, "max_retries": 0}
    made = OpenAIEmbeddings(base_url=url, api_key=TOKEN, **options)
    assert [len(v) for v in made.embed_documents(["a", "b"])] == [384, 384]
