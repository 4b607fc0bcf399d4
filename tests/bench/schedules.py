"""The peer of the scheduler: APScheduler, its jobs in SQLite, as a program that `bench scheduler judge` judges.

    schedules.py default|always fill FOLDER
    schedules.py default|always live FOLDER on|end

`default` leaves misfire_grace_time as it is (one second); `always` makes up for everything that was missed.
"""

import json
import logging
import os
import sys
import time
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import create_engine, event

BEFORE = 2000
QUIET = 0.5
# Where calls are noted, whether each is to be on disk, and how many there were and when the last.
notes, durable, made, last = -1, False, 0, time.monotonic()


def note(n):
    """The one job: it notes that it was called, and when."""
    global made, last
    at = time.time_ns() // 1000
    os.write(notes, f"{n} {at}\n".encode())
    if durable:
        os.fdatasync(notes)
    made, last = made + 1, time.monotonic()


def moment(ms):
    return datetime.fromtimestamp(ms / 1000, timezone.utc)


def jobs(folder, grace, safe=True):
    engine = create_engine(f"sqlite:///{folder / 'jobs.sqlite'}")
    if not safe:
        event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
    defaults = {"misfire_grace_time": None} if grace == "always" else {}
    stores = {"default": SQLAlchemyJobStore(engine=engine)}
    return BackgroundScheduler(jobstores=stores, job_defaults=defaults, timezone=timezone.utc)


def fill(folder, grace, plan):
    # Keeping them is not what is measured.
    scheduler = jobs(folder, grace, safe=False)
    scheduler.start(paused=True)
    start, end, _ = plan[0]
    for n, first, every in plan[1:]:
        when = {"trigger": "date", "run_date": moment(first)}
        if every:
            when = {"trigger": "interval", "seconds": every / 1000, "start_date": moment(first), "end_date": moment(end)}
        scheduler.add_job(note, args=[n], id=str(n), **when)
    scheduler.shutdown()
    return {"leftMs": start - BEFORE - time.time() * 1000}


def live(folder, grace, plan, how):
    global notes, durable
    (_, end, safe), durable = plan[0], bool(plan[0][2])
    notes = os.open(folder / "made", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    scheduler = jobs(folder, grace)
    print("ready", flush=True)
    cpu = time.process_time()
    scheduler.start()
    if how != "end":
        time.sleep(60)
        raise SystemExit("nobody ended this life")
    while time.time() * 1000 <= end or time.monotonic() - last < QUIET:
        time.sleep(0.1)
    cpu = time.process_time() - cpu
    while scheduler.get_jobs():
        time.sleep(QUIET)
    scheduler.shutdown()
    return {"calls": made, "cpuMs": cpu * 1000, "name": f"APScheduler {version('apscheduler')}"}


def main():
    grace, verb, folder, *how = sys.argv[1:]
    folder = Path(folder)
    logging.disable()
    with open(folder / "plan") as file:
        # A life needs the first line only.
        lines = [file.readline()] if verb == "live" else file
        plan = [[int(word) for word in line.split()] for line in lines]
    print(json.dumps(fill(folder, grace, plan) if verb == "fill" else live(folder, grace, plan, *how)))


main()
