"""Python's zeroconf at work in another namespace: prints what it sees as JSON, registers what it is told on stdin."""

import json
import os
import queue
import socket
import sys
import threading
import time

from zeroconf import BadTypeInNameException, IPVersion, ServiceBrowser, ServiceInfo, Zeroconf

KINDS = ["_http._tcp.local.", "_hob._tcp.local.", "_home-assistant._tcp.local.", "_wyoming._tcp.local."]
speaking = threading.Lock()


def say(key, value):
    with speaking:
        print(json.dumps({"key": key, "value": value}), flush=True)


def main():
    zeroconf = Zeroconf(ip_version=IPVersion.V4Only)
    changed = queue.Queue()

    def heard(zeroconf, service_type, name, state_change):
        changed.put((service_type, name, state_change.name))

    def read():
        for line in sys.stdin:
            told = json.loads(line)
            info = ServiceInfo(
                told["kind"],
                f"{told['name']}.{told['kind']}",
                addresses=[socket.inet_aton(told["address"])],
                port=told["port"],
                properties=told.get("txt", {}),
                server=told["host"],
            )
            zeroconf.register_service(info)
            say(f"told {told['name']}", True)
        # Nothing more is to come: it says goodbye.
        zeroconf.close()
        os._exit(0)

    ServiceBrowser(zeroconf, KINDS, handlers=[heard])
    threading.Thread(target=read, daemon=True).start()
    say("ready", True)
    known = {}
    while True:
        try:
            service_type, name, change = changed.get(timeout=0.5)
            if change == "Removed":
                known.pop(name, None)
                say(name, None)
                continue
            known[name] = service_type
        except queue.Empty:
            name = None
        # Addresses come and go without a change of the service: look at the cache each time.
        for each, service_type in list(known.items()) if name is None else [(name, known[name])]:
            try:
                info = ServiceInfo(service_type, each)
            except BadTypeInNameException:
                continue
            if info.load_from_cache(zeroconf) or (name and info.request(zeroconf, 2000)):
                txt = {k.decode(): (v or b"").decode() for k, v in info.properties.items()}
                value = {"port": info.port, "host": info.server, "txt": txt}
                say(each, value | {"addresses": sorted(info.parsed_addresses())})
        time.sleep(0.01)


main()
