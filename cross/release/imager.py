"""The list by which Raspberry Pi Imager offers an image: `rpi-imager --repo FILE`, or a link to it."""

import base64
import hashlib
import json
import lzma
from datetime import datetime, timezone

from inputs import ROOT

BLOCK = 1 << 20


def unpacked(path):
    """The bytes of an image as they are on the card."""
    with lzma.open(path, "rb") as file:
        yield from iter(lambda: file.read(BLOCK), b"")


def measure(pieces):
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
    return size, digest.hexdigest()


def stored(path):
    with path.open("rb") as file:
        return measure(iter(lambda: file.read(BLOCK), b""))


def entry(path, version, epoch, url, devices):
    """The image's entry, with its sizes and digests as they are."""
    size, digest = stored(path)
    size_on_card, digest_on_card = measure(unpacked(path))
    icon = base64.b64encode((ROOT / "web/public/favicon.svg").read_bytes()).decode()
    return {
        "name": f"Hob {version}",
        "description": "An always-on agent for a home or workshop; set up from its page, or by the settings file on the card",
        "icon": f"data:image/svg+xml;base64,{icon}",
        "url": f"{url.rstrip('/')}/{path.name}" if url else path.name,
        "release_date": datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%d"),
        "extract_size": size_on_card,
        "extract_sha256": digest_on_card,
        "image_download_size": size,
        "image_download_sha256": digest,
        "devices": devices,
        # Imager's own settings would be written where nothing reads them.
        "init_format": "none",
        "architecture": "armv8",
    }


def write(entries):
    return json.dumps({"os_list": entries}, indent=2) + "\n"
