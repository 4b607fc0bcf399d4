"""Says on the network what no honest program would, until it is stopped: `stranger.py ADDRESS evil|flood`."""

import socket
import struct
import sys
import time

A, PTR, TXT, SRV = 1, 12, 16, 33


def name(*labels):
    encoded = [label.encode() for label in labels]
    return b"".join(bytes([len(label)]) + label for label in encoded) + b"\0"


def record(owner, kind, data):
    return owner + struct.pack("!HHIH", kind, 1, 4500, len(data)) + data


def message(*records):
    return struct.pack("!HHHHHH", 0, 0x8400, 0, len(records), 0, 0) + b"".join(records)


def evil(address):
    """A Hob with a name and texts that would clear a terminal and turn the writing round."""
    service, host = name("_hob", "_tcp", "local"), name("e", "local")
    instance = name("evil\x1b[2J\x07 \u202egnp", "_hob", "_tcp", "local")
    texts = ["id=" + "x\x1b[31m" * 30, "ver=\r\n\r\n", "claimed=\0", "tls=-1", "fp=zz"]
    txt = b"".join(bytes([len(text)]) + text.encode() for text in texts)
    while True:
        yield message(
            record(service, PTR, instance),
            record(instance, SRV, struct.pack("!HHH", 0, 0, 80) + host),
            record(instance, TXT, txt),
            record(host, A, socket.inet_aton(address)),
        )
        time.sleep(0.3)


def flood(address):
    """Hosts that nobody asked for, 15,000 a second."""
    number = 0
    while True:
        hosts = [name(f"host{number + i}", "local") for i in range(30)]
        number += 30
        yield message(*[record(host, A, socket.inet_aton(address)) for host in hosts])
        time.sleep(0.002)


def main():
    address, what = sys.argv[1:]
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    out.bind((address, 5353))
    out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
    for said in {"evil": evil, "flood": flood}[what](address):
        out.sendto(said, ("224.0.0.251", 5353))


main()
