"""What a turn costs beside the model: CPU time, bytes, memory and delay, measured around a model server with a script."""

import http.client
import json
import os
import statistics
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from daemon import TOKEN, Daemon, copy_of, numbers

HERE = Path(__file__).resolve().parent
# What is said in the long conversation, and answered.
SAYS = "What did we say about the boiler valve, and is it turn {n} already?"
ANSWERS = ("We said that the valve is called V-7, that Marta looks after it in spring and autumn, and that it has to be closed "
           "before the pump is taken out. It is turn {n}. ")
# The first chunk of the model's answer is a word, the next are a few, after this many seconds.
WORD, CHUNK, PAUSE = 3, 24, 0.02


class Model(ThreadingHTTPServer):
    """A model that answers as `mind` says: text, or a list of calls. It keeps what each request was made of."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, mind):
        super().__init__(("127.0.0.1", 0), Handler)
        self.mind, self.asked, self.first, self.lock = mind, [], [], threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        # Set while answers may be given; how many wait.
        self.open, self.waiting = threading.Event(), 0
        self.open.set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Whoever is ended in the middle of an answer is none of our errors."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Words are sent when they are there, as servers of models do.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.whole({"object": "list", "data": [{"id": "test-model", "object": "model"}]})

    def do_POST(self):
        text = self.rfile.read(int(self.headers["content-length"]))
        head = len(self.raw_requestline) + sum(len(k) + len(v) + 4 for k, v in self.headers.items()) + 2
        body = json.loads(text)
        with self.server.lock:
            self.server.asked.append({"bytes": head + len(text), "body": len(text), "characters": len(text.decode()),
                                      "tools": len(body.get("tools") or []), "messages": len(body["messages"])})
            self.server.waiting += 1
        self.server.open.wait()
        answer = self.server.mind(body)
        if body.get("stream"):
            self.stream(answer)
        else:
            self.whole({"id": "x", "object": "chat.completion", "created": 1, "model": "test-model", "usage": USAGE, "choices": [
                {"index": 0, "message": {"role": "assistant", **told(answer)}, "finish_reason": reason(answer)}]})

    def whole(self, answer):
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def stream(self, answer):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if isinstance(answer, str):
            first, rest = answer[:WORD], answer[WORD:]
            self.server.first.append(time.monotonic())
            self.event({"content": first})
            # A pause, so that a client that keeps the first word until the next is there is found out.
            time.sleep(PAUSE if rest else 0)
            for at in range(0, len(rest), CHUNK):
                self.event({"content": rest[at:at + CHUNK]})
        else:
            self.event(told(answer))
        self.event({}, reason(answer))
        self.data({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "test-model", "choices": [],
                   "usage": USAGE})
        self.chunk("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def event(self, delta, finish=None):
        self.data({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "test-model",
                   "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def data(self, value):
        self.chunk(f"data: {json.dumps(value)}\n\n")

    def chunk(self, text):
        self.wfile.write(f"{len(text.encode()):x}\r\n{text}\r\n".encode())
        self.wfile.flush()


USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def told(answer):
    if isinstance(answer, str):
        return {"content": answer}
    calls = [{"index": at, "id": f"call_{time.monotonic_ns()}", "type": "function",
              "function": {"name": name, "arguments": json.dumps(arguments)}} for at, (name, arguments) in enumerate(answer)]
    return {"content": None, "tool_calls": calls}


def reason(answer):
    return "stop" if isinstance(answer, str) else "tool_calls"


def results(body):
    """How many results stand after the person's last words."""
    roles = [message["role"] for message in body["messages"]]
    last = len(roles) - 1 - roles[::-1].index("user")
    return roles[last:].count("tool")


def talk(body):
    """The long conversation's answers: each says its number, so that none repeats another."""
    said = sum(message["role"] == "user" for message in body["messages"])
    return (ANSWERS * 2).format(n=said)


def script(*turns):
    """Calls, one a turn, and then the answer."""
    return lambda body: [turns[results(body)]] if results(body) < len(turns) else "It is done."


FACT = "The boiler valve is called V-7; Marta looks after it."
# The same task for both, in the tools that each has at hand: keep a fact, find it again, work out 15 percent of 80.
HOB_TASK = script(("remember", {"content": FACT}), ("recall", {"query": "boiler valve"}),
                  ("calculate", {"expression": "80 * 0.15"}))
PEER_TASK = script(("write_file", {"path": "notes.md", "content": FACT}), ("read_file", {"path": "notes.md"}),
                   ("exec", {"command": "echo $((80 * 15 / 100))"}))
# For Hob also with tools that it is not shown, and has to search for.
HOB_SEARCH = script(("search_tools", {"query": "note"}),
                    *(("use_tool", {"tool_name": name, "arguments": arguments}) for name, arguments in [
                        ("add_note", {"title": "Valve", "content": FACT}), ("list_notes", {"search": "valve"}),
                        ("calculate_percentage", {"operation": "of", "percent": 15, "value": 80})]))
TASK = "Note what the boiler valve is called, read it back to me, and tell me what 15 percent of 80 is."


def sent(asked):
    """What one request, or several, carried: a token is taken as four characters."""
    return {"requests": len(asked), "bytes": sum(one["bytes"] for one in asked),
            "tokens": round(sum(one["characters"] for one in asked) / 4), "tools": asked[-1]["tools"]}


def cpu_ms(pid):
    """CPU time of a process, ended threads too."""
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) * 1e3 / os.sysconf("SC_CLK_TCK")


def memory(pid):
    """Megabytes: resident, and what is no file. Its share of pages of files where the system tells."""
    status = numbers(f"/proc/{pid}/status")
    found = {"rss": status["VmRSS"], "anonymous": status["RssAnon"]}
    try:
        found["pss"] = numbers(f"/proc/{pid}/smaps_rollup")["Pss"]
    except PermissionError:
        pass
    return {name: kb / 1024 for name, kb in found.items()}


def hob(binary, folder, model):
    # Under no limit of calls a minute: these turns come faster than a person's.
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / "hob.toml").write_text("[limits]\ncalls = 0\n")
    return Daemon(binary, folder, {"HOB_MODEL": "custom/test-model", "HOB_LLM_URL": model.url, "HOB_LLM_KEY": "sk-test"})


def streamed(daemon, body, token=TOKEN):
    """Says something; gives the time of the first word, the conversation and the whole answer."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=300)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/api/v1/chat", json.dumps({**body, "stream": True}), headers)
    answer, first, data = connection.getresponse(), None, {}
    if answer.status != 200:
        raise SystemExit(f"the chat answers {answer.status}: {answer.read().decode(errors='replace')}")
    event = ""
    for line in answer:
        if line.startswith(b"event:"):
            event = line[6:].strip().decode()
        elif line.startswith(b"data:"):
            if event == "text" and first is None:
                first = time.monotonic()
            if event in ("done", "error"):
                data = json.loads(line[5:])
    connection.close()
    if "response" not in data:
        raise SystemExit(f"the run ended without an answer: {data}")
    return first, data


def bytes_of_hob(binary, scratch):
    found = {}
    for name, mind, message in [("ping", lambda _: "pong", "ping"), ("task", HOB_TASK, TASK), ("searched", HOB_SEARCH, TASK)]:
        model = Model(mind)
        with hob(binary, scratch / f"hob-{name}", model) as daemon:
            daemon.first_answer()
            done = daemon.post("/api/v1/chat", {"message": message})
            failed = [call for call in done["toolCalls"] if call["isError"]]
            if failed:
                raise SystemExit(f"a call of the task fails: {failed[0]}")
        found[name] = sent(model.asked)
    return found


def conversation_of_hob(binary, scratch, turns):
    """CPU time a turn over a conversation that has reached 100 messages, its bytes at turn 30, and the first word's delay."""
    model = Model(talk)
    with hob(binary, scratch / "hob-turns", model) as daemon:
        daemon.first_answer()
        conversation = {}
        for n in range(1, 51):
            _, done = streamed(daemon, {"message": SAYS.format(n=n), **conversation})
            conversation = {"conversationId": done["conversationId"]}
        at_30 = sent([model.asked[29]])
        model.first.clear()
        begun, firsts = cpu_ms(daemon.process.pid), []
        for n in range(51, 51 + turns):
            firsts.append(streamed(daemon, {"message": SAYS.format(n=n), **conversation})[0])
        cpu = (cpu_ms(daemon.process.pid) - begun) / turns
    return {"cpuMs": cpu, "turns": turns, "messages": max(one["messages"] for one in model.asked), "requests": len(model.asked),
            "at30": at_30, "delayMs": spread(delays(firsts, model.first))}


def delays(heard, said):
    """Milliseconds from the model's first word to the client's. What the model said to nobody, such as a summary, counts not."""
    return [(at - max(before for before in said if before <= at)) * 1e3 for at in heard]


def spread(values):
    values = sorted(values)
    return {"p50": statistics.median(values), "p99": values[min(len(values) - 1, -(-len(values) * 99 // 100) - 1)]}


def peer(python, folder, model, *messages):
    """What nanobot says to these messages; the process, where its model keeps it waiting."""
    folder.mkdir(parents=True, exist_ok=True)
    line = [str(python), str(HERE / "nanobot.py"), str(folder), model.url, *messages]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=(folder / "log").open("w"), text=True)


def answers(process, folder):
    lines = [json.loads(line) for line in process.stdout if line.startswith("{")]
    if process.wait() or not lines:
        raise SystemExit(f"nanobot fails:\n{(folder / 'log').read_text()[-2000:]}")
    return lines[0], lines[1:]


def bytes_of_peer(python, scratch):
    found = {}
    for name, mind, message in [("ping", lambda _: "pong", "ping"), ("task", PEER_TASK, TASK)]:
        model, folder = Model(mind), scratch / f"peer-{name}"
        version = answers(peer(python, folder, model, message), folder)[0]["version"]
        found[name] = sent(model.asked)
    return {"version": version, **found}


def conversation_of_peer(python, scratch, turns):
    model, folder = Model(talk), scratch / "peer-turns"
    messages = [SAYS.format(n=n) for n in range(1, 51 + turns)]
    _, told = answers(peer(python, folder, model, *messages), folder)
    later = told[50:]
    late = delays([one["first"] for one in later if one["first"]], model.first)
    return {"cpuMs": statistics.mean(one["cpuMs"] for one in later), "turns": len(later),
            "messages": max(one["messages"] for one in model.asked), "requests": len(model.asked),
            "at30": sent([model.asked[29]]), "delayMs": spread(late) if late else None}


def waiting(model, count):
    """Waits until so many requests wait for the model."""
    until = time.monotonic() + 120
    while model.waiting < count:
        if time.monotonic() > until:
            raise SystemExit(f"only {model.waiting} of {count} conversations reached the model")
        time.sleep(0.02)
    time.sleep(1)


def memory_of_hob(binary, scratch, count):
    """With so many conversations that wait for the model at once, each streamed to a client of its own."""
    model = Model(lambda _: "pong")
    # A copy, so that nobody shares its pages.
    binary = copy_of(binary, scratch / "copy")
    with hob(binary, scratch / "hob-memory", model) as daemon:
        daemon.first_answer()
        # One person has at most 16 runs under way.
        people = [new_token(binary, scratch / "hob-memory", f"person{n}") for n in range(-(-count // 12))]
        for token in people:
            streamed(daemon, {"message": "ping"}, token)
        time.sleep(1)
        before = memory(daemon.process.pid)
        model.open.clear()
        model.waiting = 0
        each = [(daemon, {"message": f"ping {n}"}, people[n % len(people)]) for n in range(count)]
        clients = [threading.Thread(target=streamed, args=args, daemon=True) for args in each]
        for client in clients:
            client.start()
        waiting(model, count)
        during = memory(daemon.process.pid)
        model.open.set()
        for client in clients:
            client.join(60)
    each = {part: (during[part] - before[part]) * 1024 / count for part in before}
    return {"conversations": count, "before": before, "during": during, "eachKb": each}


def new_token(binary, folder, name):
    line = [str(binary), "--data", str(folder), "token", "new", name, "--role", "member"]
    done = subprocess.run(line, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout.strip()


def memory_of_peer(python, scratch):
    """With one conversation that waits for the model."""
    model, folder = Model(lambda _: "pong"), scratch / "peer-memory"
    model.open.clear()
    process = peer(python, folder, model, "ping")
    waiting(model, 1)
    found = memory(process.pid)
    model.open.set()
    answers(process, folder)
    return found


def measure(binary, scratch, python, turns=100, conversations=50):
    """Everything; `python` is one with nanobot in it, or None."""
    found = {"hob": {**bytes_of_hob(binary, scratch), **conversation_of_hob(binary, scratch, turns),
                     "memory": memory_of_hob(binary, scratch, conversations)}}
    if python:
        found["nanobot"] = {**bytes_of_peer(python, scratch), **conversation_of_peer(python, scratch, turns // 2),
                            "memory": memory_of_peer(python, scratch)}
    return found
