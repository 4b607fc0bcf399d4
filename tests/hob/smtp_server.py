"""An SMTP server for tests: it signs in, encrypts, and keeps what it gets in a folder."""

import asyncio
import json
import pathlib
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

folder, certificate, key = sys.argv[1:4]


class Keep:
    count = 0

    def __init__(self, encrypted=False):
        self.encrypted = encrypted

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return "550 5.1.1 no such user here"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 ok"

    async def handle_DATA(self, server, session, envelope):
        Keep.count += 1
        name = pathlib.Path(folder) / str(Keep.count)
        told = {"from": envelope.mail_from, "to": envelope.rcpt_tos, "tls": self.encrypted or session.ssl is not None}
        name.with_suffix(".json").write_text(json.dumps(told))
        name.with_suffix(".part").write_bytes(envelope.content)
        name.with_suffix(".part").rename(name.with_suffix(".eml"))
        return "250 2.0.0 taken"


def authenticate(server, session, envelope, mechanism, data):
    known = isinstance(data, LoginPassword) and (data.login, data.password) == (b"nora", b"sesame-4711")
    return AuthResult(success=known, handled=False)


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    facts = {"auth_required": True, "authenticator": authenticate, "data_size_limit": 30_000_000}
    loop = asyncio.get_running_loop()
    later = await loop.create_server(
        lambda: SMTP(Keep(), tls_context=context, require_starttls=True, **facts), "127.0.0.1", 0
    )
    at_once = await loop.create_server(
        lambda: SMTP(Keep(encrypted=True), auth_require_tls=False, **facts), "127.0.0.1", 0, ssl=context
    )
    print(later.sockets[0].getsockname()[1], at_once.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
