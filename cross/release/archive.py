"""Archives whose bytes depend on their contents alone: tar, xz, gzip, and the `ar` of a Debian package."""

import gzip
import io
import lzma
import tarfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """One file of an archive; `data` is its text, its bytes, or the file to read. A name that ends in `/` is a folder."""

    name: str
    data: bytes | str | Path = b""
    mode: int = 0o644

    def read(self):
        if isinstance(self.data, Path):
            return self.data.read_bytes()
        return self.data.encode() if isinstance(self.data, str) else self.data


def with_folders(entries):
    """The entries and the folders they are in, in the order of their names."""
    folders = {}
    for entry in entries:
        for folder in list(Path(entry.name).parents)[:-1]:
            folders.setdefault(f"{folder}/", Entry(f"{folder}/", mode=0o755))
    own = {entry.name: entry for entry in entries}
    assert len(own) == len(entries), "two files have the same name"
    return [entry for _, entry in sorted((folders | own).items())]


def tar(entries, epoch, prefix=""):
    """A tar of root's files with one date; `prefix` is put before each name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in with_folders(entries):
            info = tarfile.TarInfo(prefix + entry.name.rstrip("/"))
            info.mode, info.mtime, info.uname, info.gname = entry.mode, epoch, "root", "root"
            if entry.name.endswith("/"):
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                content = entry.read()
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def xz(data):
    # One thread, and a dictionary of 8 MB: a board with little memory can unpack it.
    return lzma.compress(data, preset=6, check=lzma.CHECK_CRC64)


def gz(data, level=9):
    return gzip.compress(data, level, mtime=0)


def ar(members, epoch):
    """The container of a Debian package: (name, bytes) in their order."""
    out = [b"!<arch>\n"]
    for name, data in members:
        out.append(f"{name:<16}{epoch:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode())
        out.append(data + b"\n" * (len(data) % 2))
    return b"".join(out)
