"""The clock of the machine jumps, forward and backward: what is due by the time of day or by the sun happens once."""

import datetime
import pathlib
import time
import zoneinfo

import libfaketime
import pytest

from conftest import Hob

HERE = zoneinfo.ZoneInfo("Europe/Vienna")
LIBRARY = pathlib.Path(libfaketime.__file__).parent / "vendor/libfaketime/src/libfaketime.so.1"


class Clock:
    """The wall clock of a process, as an offset to that of this machine. The monotonic clock goes on."""

    def __init__(self, folder):
        folder.mkdir(parents=True)
        self.file = folder / "clock"
        self.set("2026-11-20 16:00")
        self.env = {"LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(self.file), "FAKETIME_NO_CACHE": "1",
                    "DONT_FAKE_MONOTONIC": "1"}

    def set(self, local):
        wanted = datetime.datetime.fromisoformat(local).replace(tzinfo=HERE).timestamp()
        new = self.file.with_suffix(".new")
        new.write_text(f"{wanted - time.time():+.3f}\n")
        new.rename(self.file)


@pytest.fixture
def clock(tmp_path):
    assert LIBRARY.exists(), "tests/home/setup brings it"
    return Clock(tmp_path / "time")


def test_what_is_due_happens_once_however_the_clock_jumps(tmp_path, clock):
    hob = Hob(tmp_path / "hob", config='time_zone = "Europe/Vienna"\nlatitude = 48.2\nlongitude = 16.37\n', env=clock.env)

    def rule(name, trigger, **more):
        action = {"type": "pin", "pin": 17, "toggle": True}
        hob.call("create_rule", name=name, triggers=[trigger], actions=[action], mode="queued", **more)

    def fired():
        return {one["name"]: one["fired"] for one in hob.call("list_rules", limit=50)["rules"]}

    def are(**expected):
        end = time.monotonic() + 40
        while (now := fired()) != expected:
            assert time.monotonic() < end, (now, expected)
            time.sleep(0.1)

    # Sunset is between 16:05 and 16:15.
    rule("sunset", {"type": "sun", "event": "sunset"})
    rule("later", {"type": "sun", "event": "sunset", "offsetMinutes": 10})
    rule("evening", {"type": "schedule", "schedule": "0 18 * * *"})
    rule("mark", {"type": "schedule", "schedule": "5 18 * * *"})
    rule("bell", {"type": "pin", "pin": 4, "edge": "rising"}, cooldownSeconds=600)
    are(sunset=0, later=0, evening=0, mark=0, bell=0)
    clock.set("2026-11-20 16:15")
    are(sunset=1, later=0, evening=0, mark=0, bell=0)
    # Back before it, and on again: it has been.
    clock.set("2026-11-20 15:00")
    hob.simulate("press 4 50")
    are(sunset=1, later=0, evening=0, mark=0, bell=1)
    clock.set("2026-11-20 16:25")
    are(sunset=1, later=1, evening=0, mark=0, bell=1)
    # A rest that has begun is no longer than it is, wherever the clock goes.
    clock.set("2026-11-20 14:00")
    hob.simulate("press 4 50")
    are(sunset=1, later=1, evening=0, mark=0, bell=2)
    clock.set("2026-11-20 18:00:01")
    are(sunset=1, later=1, evening=1, mark=0, bell=2)
    # An hour back and on again, as at the end of summer: once.
    noticed = hob.log.read_text().count("the clock was set")
    clock.set("2026-11-20 17:30")
    end = time.monotonic() + 20
    while hob.log.read_text().count("the clock was set") == noticed:
        assert time.monotonic() < end
        time.sleep(0.05)
    clock.set("2026-11-20 18:05:01")
    are(sunset=1, later=1, evening=1, mark=1, bell=2)
    # A day forward, beyond the sunset: that has passed. The schedules are made up for once.
    clock.set("2026-11-21 20:00")
    are(sunset=1, later=1, evening=2, mark=2, bell=2)
    # Years back, as without a battery: nothing by the time of day, until the network sets the clock.
    clock.set("1970-01-02 18:00:01")
    hob.simulate("press 4 50")
    are(sunset=1, later=1, evening=2, mark=2, bell=3)
    clock.set("2026-11-22 18:00:01")
    are(sunset=1, later=1, evening=3, mark=2, bell=3)
    hob.stop()
