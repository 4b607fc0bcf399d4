"""Hob open to a network: what another machine may ask in clear text, what only over TLS, and whose guesses count as whose."""

import json
import sys

import pytest
from lan import until

CODE = """
import httpx, json, ssl, sys
steps = json.load(sys.stdin)
with httpx.Client(verify=False, trust_env=False, timeout=20) as client:
    for step in steps:
        answer = client.request(**step)
        body = answer.json() if "json" in answer.headers.get("content-type", "") else answer.text
        print(json.dumps({"status": answer.status_code, "body": body, "headers": dict(answer.headers)}))
"""


@pytest.fixture
def hob(lan):
    return lan.machine("board", "10.77.0.5").hob("kitchen", "--no-mdns")


def ask(machine, *steps):
    """What a machine is answered, one request after another in one browser."""
    said = machine.run(sys.executable, "-c", CODE, input=json.dumps(steps))
    return [json.loads(line) for line in said.splitlines()]


def get(url, **more):
    return {"method": "GET", "url": url, **more}


def post(url, body, **more):
    return {"method": "POST", "url": url, "json": body, **more}


PLAIN, TLS = "http://10.77.0.5:4620", "https://10.77.0.5:4621"


def code_of(hob):
    return until("a claim link", lambda: hob.said().partition("#claim=")[2].split())[0]


def test_secrets_are_not_told_in_clear_text(lan, hob):
    phone, code = lan.machine("phone", "10.77.0.9"), code_of(hob)
    assert f"https://10.77.0.5:4621/#claim={code}" in hob.said(), "the console tells the link for other machines"
    body = {"code": code, "person": "Anna", "password": "correct horse battery"}
    page, named, health, asset, claim, sign_in, api = ask(
        phone,
        get(f"{PLAIN}/"),
        get(f"{PLAIN}/", headers={"host": "kitchen.local:4620"}),
        get(f"{PLAIN}/healthz"),
        get(f"{PLAIN}/favicon.svg"),
        post(f"{PLAIN}/api/v1/claim", body),
        post(f"{PLAIN}/api/v1/session", {"token": "x"}),
        get(f"{PLAIN}/api/v1/tools"),
    )
    assert (page["status"], page["headers"]["location"]) == (307, f"{TLS}/")
    assert named["headers"]["location"] == "https://kitchen.local:4621/"
    assert health["status"] == 200 and asset["status"] == 307
    for refused in [claim, sign_in]:
        assert (refused["status"], refused["body"]["error"]["code"]) == (403, "tls_required"), refused
        assert "4621" in refused["body"]["error"]["message"]
    assert api["body"]["error"]["code"] == "unclaimed"

    (claimed,) = ask(phone, post(f"{TLS}/api/v1/claim", body))
    assert claimed["status"] == 200, claimed
    csrf = {"x-csrf-token": claimed["body"]["data"]["csrfToken"]}
    signed, made = ask(
        phone,
        post(f"{TLS}/api/v1/session", {"person": "anna", "password": "correct horse battery"}),
        post(f"{TLS}/api/v1/tokens", {"name": "x"}, headers=csrf),
    )
    assert signed["status"] == 200 and made["body"]["error"]["code"] == "csrf", "another session's token proves nothing"


def test_a_token_works_in_clear_text_but_makes_no_others(lan, hob):
    phone = lan.machine("phone", "10.77.0.9")
    token = hob.owned("POST", "/api/v1/tokens", {"name": "phone", "role": "admin"})["token"]
    bearer = {"headers": {"authorization": f"Bearer {token}"}}
    chat, tokens, people, backup, restore, model, looked, metrics, ollama = ask(
        phone,
        post(f"{PLAIN}/api/v1/chat", {"message": "what is 6 * 7?"}, **bearer),
        post(f"{PLAIN}/api/v1/tokens", {"name": "y"}, **bearer),
        get(f"{PLAIN}/api/v1/people", **bearer),
        post(f"{PLAIN}/api/v1/backup", {}, **bearer),
        post(f"{PLAIN}/api/v1/restore", {}, **bearer),
        {"method": "PUT", "url": f"{PLAIN}/api/v1/model", "json": {"model": "reflex"}, **bearer},
        get(f"{PLAIN}/api/v1/model", **bearer),
        get(f"{PLAIN}/metrics", **bearer),
        get(f"{PLAIN}/api/tags", **bearer),
    )
    assert "42" in chat["body"]["data"]["response"] and looked["status"] == 200
    assert metrics["status"] == 200 and ollama["status"] == 200, "programs are not sent to the page's door"
    for refused in [tokens, people, backup, restore, model]:
        assert (refused["status"], refused["body"]["error"]["code"]) == (403, "tls_required"), refused
    (over_tls,) = ask(phone, post(f"{TLS}/api/v1/tokens", {"name": "y"}, **bearer))
    assert over_tls["status"] == 201


def test_one_machine_s_guesses_are_not_another_s(lan, hob):
    thief, phone = lan.machine("thief", "10.77.0.66"), lan.machine("phone", "10.77.0.9")
    hob.owned("POST", "/api/v1/people", {"name": "Anna", "role": "member", "password": "correct horse battery"})
    wrong = post(f"{TLS}/api/v1/session", {"person": "Anna", "password": "a guess"})
    statuses = [a["status"] for a in ask(thief, *[wrong] * 12)]
    assert statuses.count(401) == 5 and statuses.count(429) == 7, statuses
    right = post(f"{TLS}/api/v1/session", {"person": "Anna", "password": "correct horse battery"})
    assert ask(thief, right)[0]["status"] == 429
    assert ask(phone, right)[0]["status"] == 200
