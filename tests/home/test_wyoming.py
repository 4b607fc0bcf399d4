"""Hob inside a real Home Assistant: it finds Hob by zeroconf, the user confirms, a person approves it at Hob, and then Hob
answers `/api/conversation/process`. Both are machines of a network in namespaces (tests/clients/lan.py)."""

import json
import os
import subprocess
import sys

from conftest import HERE

from lan import until

HA = HERE / "ha"
BOARD, HOME, PORT = "10.77.0.5", "10.77.0.8", 18150

REST = """
import httpx, json, sys
method, url, token, body = json.load(sys.stdin)
answer = httpx.request(method, url, json=body, headers={"authorization": f"Bearer {token}"}, timeout=60)
answer.raise_for_status()
print(answer.text)
"""


class Home:
    """Home Assistant on a machine of the network."""

    def __init__(self, machine, folder):
        self.machine, self.folder = machine, str(folder)
        machine.run("ip", "route", "add", "default", "dev", "eth0")
        started = machine.run(HA, "start", "--port", str(PORT), "--dir", self.folder, "--zeroconf", "--host", "0.0.0.0")
        self.token = json.loads(started.strip().splitlines()[-1])["token"]

    def rest(self, method, path, body=None):
        asked = json.dumps([method, f"http://127.0.0.1:{PORT}{path}", self.token, body])
        return json.loads(self.machine.run(sys.executable, "-c", REST, input=asked))

    def ws(self, command):
        return json.loads(self.machine.run(HA, "ws", "--dir", self.folder, json.dumps(command)))

    def converse(self, agent, text, conversation=None):
        body = {"text": text, "agent_id": agent, "language": "en", **({"conversation_id": conversation} if conversation else {})}
        answer = self.rest("POST", "/api/conversation/process", body)
        response = answer["response"]
        return response["response_type"], response["speech"]["plain"]["speech"], answer["conversation_id"]

    def stop(self):
        subprocess.run([*self.machine.enter, HA, "stop", "--dir", self.folder], capture_output=True, timeout=60)


def flows(home, handler):
    progress = home.ws({"type": "config_entries/flow/progress"})
    progress = progress.get("result", progress) if isinstance(progress, dict) else progress
    return [flow for flow in progress if flow["handler"] == handler]


def agents(home):
    return {state["entity_id"]: state for state in home.rest("GET", "/api/states") if state["entity_id"].startswith("conversation.")}


def test_home_assistant_adopts_hob_as_a_conversation_agent(lan, tmp_path):
    board = lan.machine("board", BOARD)
    hob = board.hob("kitchen")
    hob.owned("GET", "/api/v1/device")
    home = Home(lan.machine("home", HOME), tmp_path / "ha")
    try:
        # Found by zeroconf, and adopted when the user confirms.
        found = until("Home Assistant discovers Hob", lambda: flows(home, "wyoming"), 120)
        assert [flow["context"]["source"] for flow in found] == ["zeroconf"], found
        before = set(agents(home))
        done = home.rest("POST", f"/api/config/config_entries/flow/{found[0]['flow_id']}", {})
        assert done["type"] == "create_entry", done
        agent = until("an agent", lambda: set(agents(home)) - before, 30).pop()
        # Nothing is done for an address that no person has approved.
        kind, said, _ = home.converse(agent, "what is 6 times 7")
        assert kind == "error" and "Approve it" in said, (kind, said)
        [waiting] = hob.owned("GET", "/api/v1/voice/clients")["clients"]
        assert (waiting["address"], waiting["status"]) == (HOME, "pending"), waiting
        hob.owned("PUT", f"/api/v1/voice/clients/{HOME}", {"status": "approved", "name": "Home Assistant"})
        # Hob answers, and continues a conversation.
        kind, said, conversation = home.converse(agent, "what is 6 times 7")
        assert kind == "action_done" and "42" in said, (kind, said)
        kind, said, conversation = home.converse(agent, "set a timer for 10 minutes", conversation)
        assert kind == "action_done" and "10 minutes" in said, (kind, said)
        timers = hob.owned("POST", "/api/v1/tools/list_timers/execute", {"arguments": {}})["result"]
        assert len(timers["timers"]) == 1, timers
        # What voice may not do is not done.
        kind, said, _ = home.converse(agent, "turn on pin 17", conversation)
        pin = hob.owned("POST", "/api/v1/tools/gpio_read/execute", {"arguments": {"pin": 17}})["result"]
        assert pin["high"] is False and "voice" in said, (said, pin)
        # Home Assistant goes on after Hob restarts, and stops when the approval is taken back.
        hob.stop()
        env = {"PATH": os.environ["PATH"], "HOB_LOG": "info"}
        again = [os.environ["HOB_BIN"], "serve", "--data", hob.data, "--board", "sim", "--listen", "0.0.0.0:4620", "--name", "kitchen"]
        hob.process = board.background(*again, env=env, stdout=subprocess.PIPE, stderr=hob.log)
        assert hob.process.stdout.readline().startswith("hob ready"), hob.said()
        kind, said, _ = home.converse(agent, "what is 6 times 8")
        assert kind == "action_done" and "48" in said, (kind, said)
        hob.owned("DELETE", f"/api/v1/voice/clients/{HOME}")
        assert home.converse(agent, "what is 6 times 8")[0] == "error"
    finally:
        home.stop()
