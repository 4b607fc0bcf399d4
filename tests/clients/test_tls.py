"""The encrypted door: the device's certificate, the cookies it gives, and who may say what in clear text."""

import hashlib
import os
import re
import socket
import ssl
import subprocess
import time

import httpx
import pytest


class Hob:
    """A daemon nobody has claimed, and what it says on its console."""

    def __init__(self, data, *arguments, env=()):
        self.data, self.console = data, data.with_name(data.name + ".console")
        data.mkdir(exist_ok=True)
        command = [os.environ["HOB_BIN"], "serve", "--data", data, "--board", "sim", "--listen", "127.0.0.1:0", *arguments]
        with open(self.console, "w") as console:
            env = {"PATH": os.environ["PATH"], **dict(env)}
            self.daemon = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=console, text=True)
        self.url = self.daemon.stdout.readline().split()[-1]

    def said(self, pattern):
        for _ in range(200):
            found = re.findall(pattern, self.console.read_text())
            if found:
                return found[-1]
            time.sleep(0.05)
        raise AssertionError(f"no {pattern} in\n{self.console.read_text()}")

    @property
    def port(self):
        return int(self.said(r"https on port (\d+)"))

    @property
    def fingerprint(self):
        return self.said(r"certificate SHA-256 ([0-9A-F:]{95})")

    def certificate(self):
        return ssl.get_server_certificate(("127.0.0.1", self.port))

    def stop(self):
        self.daemon.terminate()
        assert self.daemon.wait(20) == 0


@pytest.fixture
def hob(tmp_path):
    hob = Hob(tmp_path / "hob", "--name", "kitchen")
    yield hob
    hob.stop()


def trusting(certificate):
    context = ssl.create_default_context(cadata=certificate)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def test_the_certificate_is_the_one_on_the_console(hob):
    pem = hob.certificate()
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest().upper()
    assert hob.fingerprint == ":".join(re.findall("..", digest))
    # Whoever trusts it can check name and key as with any other.
    with httpx.Client(verify=trusting(pem), trust_env=False) as client:
        for host in ["127.0.0.1", "localhost"]:
            assert client.get(f"https://{host}:{hob.port}/healthz").json()["name"] == "kitchen"
        named = client.get(f"https://127.0.0.1:{hob.port}/healthz", headers={"host": "kitchen.local"},
                           extensions={"sni_hostname": "kitchen.local"})
        assert named.json()["status"] == "ok"
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"https://127.0.0.1:{hob.port}/healthz", trust_env=False)


def test_the_certificate_stays_the_same(tmp_path):
    first = Hob(tmp_path / "hob")
    print_before = first.fingerprint
    first.stop()
    again = Hob(tmp_path / "hob", "--name", "other")
    assert again.fingerprint == print_before
    again.stop()


def test_a_session_over_tls_stays_there(hob):
    code = hob.said(r"#claim=([0-9A-Z-]+)")
    with httpx.Client(base_url=f"https://127.0.0.1:{hob.port}", verify=trusting(hob.certificate()), trust_env=False) as page:
        claimed = page.post("/api/v1/claim", json={"code": code, "person": "Anna", "password": "correct horse battery"})
        assert claimed.status_code == 200, claimed.text
        cookies = claimed.headers.get_list("set-cookie")
        session = next(c for c in cookies if c.startswith("__Host-hob_session="))
        for part in ["Secure", "HttpOnly", "SameSite=Strict", "Path=/"]:
            assert part in session
        csrf = claimed.json()["data"]["csrfToken"]
        talked = page.post("/api/v1/chat", json={"message": "what is 6 * 7?"}, headers={"x-csrf-token": csrf})
        assert "42" in talked.json()["data"]["response"]
        device = page.get("/api/v1/device").json()["data"]
        assert device["tls"]["fingerprint"] == hob.fingerprint and device["tls"]["port"] == hob.port
        # A page in clear text, on the same machine, is another origin.
        foreign = page.post("/api/v1/chat", json={"message": "x"}, headers={"x-csrf-token": csrf, "origin": hob.url})
        assert foreign.status_code == 403 and foreign.json()["error"]["code"] == "cross_site"
        assert page.delete("/api/v1/session", headers={"x-csrf-token": csrf}).status_code == 200
        assert page.get("/api/v1/session").status_code == 401


def test_who_does_not_speak_tls_hangs_nothing(hob):
    crowd = []
    for n in range(300):
        peer = socket.create_connection(("127.0.0.1", hob.port))
        if n % 2:
            peer.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        crowd.append(peer)
    context = trusting(hob.certificate())
    assert httpx.get(f"https://127.0.0.1:{hob.port}/healthz", verify=context, trust_env=False).status_code == 200
    for peer in crowd:
        peer.close()


def test_old_versions_are_refused(hob):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        with socket.create_connection(("127.0.0.1", hob.port)) as peer:
            context.wrap_socket(peer)


def test_tls_can_be_off_or_elsewhere(tmp_path):
    off = Hob(tmp_path / "off", "--tls", "off")
    assert "https" not in off.console.read_text()
    off.stop()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    there = Hob(tmp_path / "there", "--tls", f"127.0.0.1:{port}")
    assert there.port == port
    there.stop()
    wrong = subprocess.run([os.environ["HOB_BIN"], "serve", "--data", tmp_path / "wrong", "--tls", "nonsense"],
                           capture_output=True, text=True, timeout=30)
    assert wrong.returncode == 1 and "0.0.0.0:4621" in wrong.stderr
