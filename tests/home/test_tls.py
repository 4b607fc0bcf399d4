"""A real Home Assistant behind HTTPS with a certificate that no authority has signed: a person confirms its fingerprint."""

import socket
import ssl
import subprocess
import threading

import pytest

from conftest import free_port


class Tls:
    """TLS in front of Home Assistant, at one port, with a certificate that may be replaced."""

    def __init__(self, folder, port):
        self.folder, self.behind, self.port = folder, port, free_port()
        self.forwarded, self.connections, self.listener = 0, [], None
        self.replace("first")

    def replace(self, name):
        """Another certificate from now on; the connections end. Returns its fingerprint."""
        self.close()
        at = self.folder / name
        if not at.with_suffix(".crt").exists():
            run = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                   "-keyout", f"{at}.key", "-out", f"{at}.crt", "-subj", f"/CN={name}"]
            subprocess.run(run, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{at}.crt", f"{at}.key")
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, args=(self.listener, context), daemon=True).start()
        said = subprocess.run(["openssl", "x509", "-in", f"{at}.crt", "-noout", "-fingerprint", "-sha256"],
                              check=True, capture_output=True, text=True).stdout
        self.forwarded = 0
        return said.strip().partition("=")[2]

    def accept(self, listener, context):
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(plain, context), daemon=True).start()

    def serve(self, plain, context):
        self.connections.append(plain)
        try:
            client = context.wrap_socket(plain, server_side=True)
            self.connections.append(client)
            behind = socket.create_connection(("127.0.0.1", self.behind))
            threading.Thread(target=self.copy, args=(behind, client), daemon=True).start()
            self.copy(client, behind, counts=True)
        except OSError:
            plain.close()

    def copy(self, source, target, counts=False):
        try:
            while data := source.recv(65536):
                self.forwarded += len(data) if counts else 0
                target.sendall(data)
        except (OSError, ValueError):
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except (OSError, ValueError):
                pass

    def close(self):
        if self.listener:
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
        for one in self.connections:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except (OSError, ValueError):
                pass
        self.connections = []


@pytest.fixture
def tls(home, tmp_path):
    made = Tls(tmp_path, int(home.url.rsplit(":", 1)[1]))
    yield made
    made.close()


def test_a_certificate_that_nobody_signed_is_confirmed_by_its_fingerprint(hob, home, tls):
    fingerprint = tls.replace("home")
    address = f"https://127.0.0.1:{tls.port}"
    set_up = lambda **more: hob.call(  # noqa: E731
        "config_set_entry", service="home_assistant", fields={"url": address, "token": home.token, **more})
    set_up()
    status = hob.wait_for_state("certificate_refused")
    assert status["fingerprint"] == fingerprint and fingerprint in status["hint"], status
    assert tls.forwarded == 0, "nothing is sent to a stranger, and the token least of all"
    # A person compares it and confirms it, as openssl writes it.
    set_up(fingerprint=f"sha256 Fingerprint={fingerprint}")
    status = hob.wait_for_state("connected")
    assert status["entities"] > 80 and tls.forwarded > 0
    # Over REST, too.
    assert hob.call("ha_get_history", entity="light.bed_light", hours=1)
    # Another certificate at the same address: the connection that held ends, and a new one is refused.
    changed = tls.replace("other")
    status = hob.wait_for_state("certificate_refused")
    assert status["fingerprint"] == changed and "another certificate" in status["hint"], status
    assert tls.forwarded == 0
    # It was renewed on purpose.
    set_up(fingerprint=changed)
    hob.wait_for_state("connected")
    assert home.token not in hob.log.read_text()
    # An unusable one says what it has to be, and does not fall back to trusting anybody.
    set_up(fingerprint="AB:CD")
    assert "SHA-256" in hob.wait_for_state("misconfigured")["hint"]
