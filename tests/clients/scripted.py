"""A model server with a script, in OpenAI's streaming format."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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
            text = json.dumps({"error": {"message": deltas[0].get("error", "")}}).encode()
            self.send_response(deltas[0]["status"])
            if "after" in deltas[0]:
                self.send_header("retry-after", deltas[0]["after"])
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            return self.wfile.write(text)
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
