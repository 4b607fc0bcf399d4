"""Hob on a network of its own: found by Python's zeroconf and by a real avahi, and finding others."""

import json
import os
import pathlib
import time

import pytest
from lan import until

HOB = os.environ["HOB_BIN"]
CLIENT = "10.77.0.2"
STRANGER = pathlib.Path(__file__).with_name("stranger.py")


@pytest.fixture
def client(lan):
    return lan.machine("client", CLIENT)


@pytest.fixture
def zeroconf(client):
    return client.peer()


def discovered(machine, *args):
    return json.loads(machine.run(HOB, "discover", "--json", *args))


def test_zeroconf_finds_all_there_is_to_know(lan, client, zeroconf):
    hob = lan.machine("board", "10.77.0.5").hob("kitchen")
    for kind in ["_hob._tcp", "_http._tcp"]:
        found = zeroconf.finds(f"kitchen.{kind}", port=4620, host="kitchen.local.", addresses=["10.77.0.5"])
        txt = found["txt"]
        assert (txt["txtvers"], txt["api"], txt["claimed"], txt["path"]) == ("1", "v1", "0", "/")
        # Who connects where it points reaches this very Hob, also by its name.
        names = ["10.77.0.5:4620", "kitchen.local:4620"]
        code = "import httpx; print([httpx.get('http://10.77.0.5:4620/healthz', headers={'host': h}).text for h in %r])"
        for health in eval(client.python(code % names)):
            assert json.loads(health)["version"] == txt["ver"], health
    device = hob.owned("GET", "/api/v1/device")
    assert device["id"] == txt["id"]
    assert (device["hostname"], device["tls"]["port"]) == ("kitchen.local", int(txt["tls"]))
    assert device["tls"]["fingerprint"].replace(":", "").lower() == txt["fp"]
    # A claim is told at once.
    zeroconf.finds("kitchen._hob._tcp", 5, txt=txt | {"claimed": "1"})


def test_avahi_finds_and_resolves(lan, client):
    ask = client.avahi("client")
    hob = lan.machine("board", "10.77.0.5").hob("kitchen")

    def resolved():
        lines = [line.split(";") for line in ask("avahi-browse", "-rpt", "_hob._tcp").splitlines()]
        return [line for line in lines if line[0] == "="]

    line = until("avahi resolves it", resolved)[0]
    assert line[3:9] == ["kitchen", "_hob._tcp", "local", "kitchen.local", "10.77.0.5", "4620"]
    assert '"txtvers=1"' in line[9] and '"claimed=0"' in line[9]
    assert ask("avahi-resolve", "-4", "-n", "kitchen.local").split() == ["kitchen.local", "10.77.0.5"]
    hob.stop()
    until("avahi forgets it", lambda: not ask("avahi-browse", "-pt", "_hob._tcp"), 5)


def test_of_two_kitchens_one_is_renamed(lan, zeroconf):
    first = lan.machine("one", "10.77.0.5").hob("kitchen")
    zeroconf.finds("kitchen._hob._tcp", addresses=["10.77.0.5"])
    second = lan.machine("two", "10.77.0.6").hob("kitchen")
    zeroconf.finds("kitchen-2._hob._tcp", addresses=["10.77.0.6"], host="kitchen-2.local.")
    zeroconf.finds("kitchen-2._http._tcp", addresses=["10.77.0.6"], host="kitchen-2.local.")
    zeroconf.finds("kitchen._hob._tcp", addresses=["10.77.0.5"], host="kitchen.local.")
    assert first.owned("GET", "/api/v1/device")["hostname"] == "kitchen.local"
    assert second.owned("GET", "/api/v1/device")["hostname"] == "kitchen-2.local"
    # It answers to the name it got, and not to just any.
    get = "import httpx; print(httpx.get('http://127.0.0.1:4620/healthz', headers={'host': '%s'}).status_code)"
    assert second.machine.python(get % "kitchen-2.local").strip() == "200"
    assert second.machine.python(get % "kitchen-7.local").strip() == "421"


def test_two_kitchens_that_wake_at_once_settle(lan, zeroconf):
    one, two = lan.machine("one", "10.77.0.5"), lan.machine("two", "10.77.0.6")
    one.hob("kitchen")
    two.hob("kitchen")

    def settled():
        a, b = zeroconf.sees("kitchen._hob._tcp"), zeroconf.sees("kitchen-2._hob._tcp")
        left = [name for name, service in zeroconf.seen.items() if "_hob" in name and service]
        return a and b and len(left) == 2 and sorted(a["addresses"] + b["addresses"]) == ["10.77.0.5", "10.77.0.6"]

    until("both are found under names of their own", settled)


def test_two_kitchens_that_meet_later_settle(lan, zeroconf):
    one, two = lan.machine("one", "10.77.0.5"), lan.machine("two", "10.77.0.6")
    two.join(False)
    first, second = one.hob("kitchen"), two.hob("kitchen")
    for hob in [first, second]:
        until("it has the name", lambda: "kitchen.local" in hob.said())
    # Until it is asked for no more.
    time.sleep(4)
    assert "kitchen-2" not in first.said() + second.said()
    two.join(True)
    until("one lets go", lambda: "kitchen-2.local" in first.said() + second.said(), 60)
    stays, goes = ("10.77.0.6", "10.77.0.5") if "kitchen-2.local" in first.said() else ("10.77.0.5", "10.77.0.6")
    zeroconf.finds("kitchen._hob._tcp", 30, addresses=[stays])
    zeroconf.finds("kitchen-2._hob._tcp", 30, addresses=[goes])


def test_a_name_of_another_program_is_left_alone(lan, zeroconf):
    lan.machine("other", "10.77.0.9").avahi("kitchen")
    lan.machine("board", "10.77.0.5").hob("kitchen")
    zeroconf.finds("kitchen-2._hob._tcp", host="kitchen-2.local.", addresses=["10.77.0.5"])


def test_avahis_name_on_the_same_machine_is_left_to_it(lan, client, zeroconf):
    board = lan.machine("kitchen", "10.77.0.5")
    board.avahi("kitchen")
    hob = board.hob("kitchen")
    zeroconf.finds("kitchen-hob._hob._tcp", host="kitchen-hob.local.", addresses=["10.77.0.5"])
    assert hob.owned("GET", "/api/v1/device")["hostname"] == "kitchen-hob.local"


def test_addresses_are_followed(lan, zeroconf):
    board = lan.machine("board", "10.77.0.5")
    board.hob("kitchen")
    found = "kitchen._hob._tcp"
    zeroconf.finds(found, addresses=["10.77.0.5"])
    board.run("ip", "address", "add", "10.77.0.50/24", "dev", "eth0")
    zeroconf.finds(found, addresses=["10.77.0.5", "10.77.0.50"])
    board.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/all/promote_secondaries")
    board.run("ip", "address", "del", "10.77.0.5/24", "dev", "eth0")
    zeroconf.finds(found, addresses=["10.77.0.50"])
    # A new lease: the old address goes before the new one comes.
    board.run("ip", "address", "flush", "dev", "eth0")
    board.run("ip", "address", "add", "10.77.0.51/24", "dev", "eth0")
    zeroconf.finds(found, addresses=["10.77.0.51"])


def test_a_network_that_comes_later_is_told(lan, zeroconf):
    board = lan.machine("board")
    board.hob("kitchen")
    time.sleep(1)
    board.run("ip", "address", "add", "10.77.0.5/24", "dev", "eth0")
    zeroconf.finds("kitchen._hob._tcp", addresses=["10.77.0.5"])


def test_two_interfaces_on_one_network_are_one_hob(lan, zeroconf):
    board = lan.machine("board", "10.77.0.5")
    board.plug("wlan0", "10.77.0.6")
    board.hob("kitchen")
    zeroconf.finds("kitchen._hob._tcp", addresses=["10.77.0.5", "10.77.0.6"])
    time.sleep(3)
    assert [name for name, service in zeroconf.seen.items() if "_hob" in name and service] == ["kitchen._hob._tcp.local."]


def test_containers_are_not_told(lan, zeroconf):
    board = lan.machine("board", "10.77.0.5")
    board.run("ip", "link", "add", "docker0", "type", "veth", "peer", "name", "veth1")
    for interface, address in [("docker0", "10.77.0.200/24"), ("veth1", "172.17.0.2/16")]:
        board.run("ip", "address", "add", address, "dev", interface)
        board.run("ip", "link", "set", interface, "up")
    hob = board.hob("kitchen")
    zeroconf.finds("kitchen._hob._tcp", addresses=["10.77.0.5"])
    assert hob.owned("GET", "/api/v1/device")["addresses"] == ["http://10.77.0.5:4620"]


def test_which_interfaces_are_left_out_is_configured(lan, zeroconf):
    board = lan.machine("board", "10.77.0.5")
    board.run("ip", "link", "set", "eth0", "down")
    board.run("ip", "link", "set", "eth0", "name", "docker0")
    board.run("ip", "link", "set", "docker0", "up")
    board.hob("silent")
    config = board.folder / "hob.toml"
    config.write_text('listen = "0.0.0.0:4630"\n[network]\nignore = ["eth*"]\n')
    board.hob("heard", "--config", config, "--tls", "off", listen="0.0.0.0:4630")
    zeroconf.finds("heard._hob._tcp", addresses=["10.77.0.5"])
    assert zeroconf.sees("silent._hob._tcp") is None


def test_one_address_is_told_alone(lan, zeroconf):
    board = lan.machine("board", "10.77.0.5", "10.77.0.6")
    board.hob("kitchen", listen="10.77.0.6:4620")
    zeroconf.finds("kitchen._hob._tcp", addresses=["10.77.0.6"])


def test_goodbye_is_said_on_sigterm(lan, zeroconf):
    hob = lan.machine("board", "10.77.0.5").hob("kitchen")
    zeroconf.finds("kitchen._hob._tcp")
    zeroconf.finds("kitchen._http._tcp")
    hob.stop()
    # Without the goodbye it would stay for more than an hour.
    zeroconf.loses("kitchen._hob._tcp", 3)
    zeroconf.loses("kitchen._http._tcp", 3)


def test_a_new_name_is_told(lan, zeroconf):
    hob = lan.machine("board", "10.77.0.5").hob(None)
    zeroconf.finds("hob._hob._tcp")
    hob.owned("PATCH", "/api/v1/device", {"name": "Pantry"})
    zeroconf.finds("pantry._hob._tcp", host="pantry.local.", addresses=["10.77.0.5"])
    zeroconf.loses("hob._hob._tcp", 5)


@pytest.mark.parametrize("args, listen", [(["--no-mdns"], "0.0.0.0:4620"), ([], "127.0.0.1:4620")])
def test_who_is_not_to_be_found_says_nothing(lan, client, zeroconf, args, listen):
    hob = lan.machine("board", "10.77.0.5").hob("kitchen", *args, listen=listen)
    lan.machine("other", "10.77.0.6").hob("pantry")
    zeroconf.finds("pantry._hob._tcp")
    assert not [name for name in zeroconf.seen if name.startswith("kitchen")]
    until("the other is found, alone", lambda: [found["name"] for found in discovered(client)] == ["pantry"])
    assert hob.owned("GET", "/api/v1/device")["hostname"] is None
    answer = hob.owned("GET", "/api/v1/discover")
    assert ("why" in answer) == (args == ["--no-mdns"]), answer


def test_hob_finds_others(lan, client, zeroconf):
    zeroconf.tell(
        kind="_home-assistant._tcp.local.",
        name="Home",
        host="0123abcd.local.",
        address=CLIENT,
        port=8123,
        txt={"location_name": "Home", "uuid": "abc", "version": "2024.12.5", "internal_url": f"http://{CLIENT}:8123"},
    )
    zeroconf.tell(kind="_wyoming._tcp.local.", name="whisper", host="w.local.", address=CLIENT, port=10300)
    client.background("python3", str(STRANGER), CLIENT, "evil")
    board = lan.machine("board", "10.77.0.5")
    hob = board.hob("kitchen")
    zeroconf.finds("kitchen._hob._tcp")

    # Once from a command that is alone on its machine, once from the daemon, which meets itself too. Who has just
    # spoken may be silent for a second, so one look may miss somebody.
    def claimed(found):
        return found.get("claimed") is True

    def all_of(look):
        return until("all are found", lambda: found if len(found := look()) == 4 and any(map(claimed, found)) else None, 30)

    third = lan.machine("third", "10.77.0.3")
    mine = all_of(lambda: hob.owned("GET", "/api/v1/discover")["found"])
    for found in [mine, all_of(lambda: discovered(third))]:
        by_name = {each["name"]: each for each in found}
        assert sorted(by_name) == ["Home", "evil[2J gnp", "kitchen", "whisper"]
        assert by_name["Home"]["kind"] == "home-assistant" and by_name["Home"]["url"] == f"http://{CLIENT}:8123"
        assert by_name["whisper"]["kind"] == "wyoming" and by_name["whisper"]["port"] == 10300
        assert by_name["kitchen"]["host"] == "kitchen.local" and by_name["kitchen"]["claimed"] is True
        assert all(ord(c) >= 32 for each in found for c in json.dumps(each, ensure_ascii=False))
        assert len(by_name["evil[2J gnp"]["id"]) <= 64
    assert [each["name"] for each in mine if each["self"]] == ["kitchen"]
    # And next to the daemon, on its own machine, in words.
    said = until("the command finds it", lambda: said if "kitchen" in (said := board.run(HOB, "discover")) else None)
    assert "http://kitchen.local:4620" in said and ", claimed" in said and "\x1b" not in said


def test_others_that_move_or_get_another_name_are_followed(lan, client):
    """Each look finds them where they are now: neither a daemon that runs on nor avahi holds on to what was."""
    ask = client.avahi("client")
    board, hub = lan.machine("board", "10.77.0.5"), lan.machine("hub", "10.77.0.8")
    hob, other = lan.machine("study", "10.77.0.4").hob("study"), board.hob(None)
    other.owned("PATCH", "/api/v1/device", {"name": "Kitchen"})
    home = {"kind": "_home-assistant._tcp.local.", "port": 8123, "host": "abc.local.", "txt": {"uuid": "abc", "version": "2024.12.5"}}
    first = hub.peer()
    first.tell(**home, name="Home", address="10.77.0.8")

    def browsed(kind):
        lines = [line.split(";") for line in ask("avahi-browse", "-rpt", kind).splitlines()]
        return sorted((line[3], line[7]) for line in lines if line[0] == "=" and line[3] != "study")

    def daemon():
        found = hob.owned("GET", "/api/v1/discover")["found"]
        return sorted((one["name"], one["url"]) for one in found if not one["self"] and one["kind"] in ("hob", "home-assistant"))

    def command():
        found = [one for one in discovered(client) if one["name"] != "study" and one["kind"] in ("hob", "home-assistant")]
        return sorted((one["name"], *one["addresses"]) for one in found)

    def are(hob_now, home_now):
        """By avahi, by the command, and by a daemon that remembers what it has heard."""
        wanted = sorted([hob_now, home_now])
        urls = sorted([(hob_now[0], f"http://{hob_now[0]}.local:4620"), (home_now[0], f"http://{home_now[1]}:8123")])
        avahi = lambda: sorted(browsed("_hob._tcp") + browsed("_home-assistant._tcp"))  # noqa: E731
        for look, expected in [(avahi, wanted), (command, wanted), (daemon, urls)]:
            until(f"{expected}: {look()}", lambda: look() == expected, 60)

    are(("kitchen", "10.77.0.5"), ("Home", "10.77.0.8"))
    # A new lease, and a new name.
    board.run("ip", "address", "flush", "dev", "eth0")
    board.run("ip", "address", "add", "10.77.0.51/24", "dev", "eth0")
    are(("kitchen", "10.77.0.51"), ("Home", "10.77.0.8"))
    other.owned("PATCH", "/api/v1/device", {"name": "Cellar"})
    are(("cellar", "10.77.0.51"), ("Home", "10.77.0.8"))
    # Home Assistant moves to another machine without a word, and later gets another name.
    first.process.kill()
    second = lan.machine("new", "10.77.0.9").peer()
    second.tell(**home, name="Home", address="10.77.0.9")
    are(("cellar", "10.77.0.51"), ("Home", "10.77.0.9"))
    second.stop()
    lan.machine("newest", "10.77.0.10").peer().tell(**home | {"host": "def.local."}, name="House", address="10.77.0.10")
    are(("cellar", "10.77.0.51"), ("House", "10.77.0.10"))


def test_discover_without_a_network_says_so(lan):
    nowhere = lan.machine("nowhere")
    nowhere.run("ip", "link", "set", "eth0", "down")
    assert discovered(nowhere) == []
    assert "no network address" in nowhere.run(HOB, "discover")
    alone = lan.machine("alone", "10.77.0.7")
    assert "--no-mdns" in alone.run(HOB, "discover")


def test_discover_fails_where_the_port_is_taken(client):
    code = (
        "import socket, subprocess as s; h = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); h.bind(('', 5353));"
        f"r = s.run([{HOB!r}, 'discover'], capture_output=True, text=True);"
        "print([r.returncode, r.stderr])"
    )
    status, said = eval(client.python(code))
    assert status == 1 and "UDP port 5353" in said


def test_a_flood_of_names_does_not_fill_memory(lan, client, zeroconf):
    board = lan.machine("board", "10.77.0.5")
    hob = board.hob("kitchen")
    zeroconf.finds("kitchen._hob._tcp")
    flood = client.background("python3", str(STRANGER), CLIENT, "flood")
    until("it notices", lambda: "floods the network" in hob.said())
    time.sleep(4)
    before = hob.memory()
    time.sleep(8)
    flood.kill()
    # What is heard within a second or two comes and goes; it does not add up.
    assert hob.memory() - before < 40_000, (before, hob.memory())
    time.sleep(3)
    until("it is found as ever", lambda: [found["name"] for found in discovered(client)] == ["kitchen"])
