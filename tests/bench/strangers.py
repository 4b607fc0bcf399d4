#!/usr/bin/env python3
"""Rows for the evaluation of reflex from sentences that strangers wrote: CLINC150 and Home Assistant's test sentences.

    strangers.py clinc REPO [SPLIT] > rows.tsv      a clone of clinc/oos-eval; splits: test (the default), val, train
    strangers.py home REPO > rows.tsv               a clone of home-assistant/intents; timers and lists
    ROWS=$PWD/rows.tsv cargo test -p reflex --lib an_exam -- --ignored --nocapture

The rows are measured on, never trained on and never committed. Several tools may be right for an intent, since the authors of
the sentences knew none of Hob's: reading a list answers whether something is on it.
"""

import json
import re
import subprocess
import sys

CLINC = {
    "reminder": "list_scheduled_tasks list_tasks list_memories recall search_everything",
    "reminder_update": "create_scheduled_task ?",
    "todo_list": "list_tasks list_lists",
    "todo_list_update": "add_task batch_add_tasks complete_task delete_task clear_list update_task ?",
    "shopping_list": "list_tasks list_lists",
    "shopping_list_update": "add_task batch_add_tasks complete_task delete_task clear_list ?",
    "calendar": "list_calendar_events",
    "calendar_update": "add_calendar_event delete_calendar_event update_calendar_event ?",
    "meeting_schedule": "list_calendar_events",
    "timer": "set_timer create_scheduled_task list_timers ?",
    "alarm": "create_scheduled_task list_scheduled_tasks ?",
    "time": "get_current_datetime",
    "date": "get_current_datetime date_add format_date -",
    "timezone": "get_current_datetime -",
    "calculator": "calculate calculate_percentage",
    "measurement_conversion": "convert_units",
    "flip_coin": "random_number",
    "roll_dice": "random_number",
}

HOME = {
    "HassStartTimer": "set_timer",
    # Hob ends a running timer either way.
    "HassCancelTimer": "cancel_timer stop_timer",
    "HassCancelAllTimers": "cancel_timer",
    "HassPauseTimer": "pause_timer",
    "HassUnpauseTimer": "resume_timer",
    "HassIncreaseTimer": "adjust_timer",
    "HassDecreaseTimer": "adjust_timer",
    "HassTimerStatus": "list_timers",
    "HassShoppingListAddItem": "add_task batch_add_tasks",
    "HassShoppingListCompleteItem": "complete_task",
    "HassListAddItem": "add_task batch_add_tasks",
    "HassListCompleteItem": "complete_task",
}


def shown(repo, path):
    return subprocess.run(["git", "-C", repo, "show", f"HEAD:{path}"], check=True, capture_output=True, text=True).stdout


def row(text, tools, category):
    print(f"{' '.join(text.split())}\t{'|'.join(tools.split())}\t-\t{category}")


def clinc(repo, split="test"):
    data = json.loads(shown(repo, "data/data_full.json"))
    for text, intent in data[split]:
        if intent in CLINC:
            row(text, CLINC[intent], intent)
    # Of the other 132 intents and the out-of-scope sentences nothing may be done.
    for text, _ in data[f"oos_{split}"]:
        row(text, "-", "oos")
    for i, (text, intent) in enumerate(data[split]):
        if intent not in CLINC and i % 10 == 0:
            row(text, "-", "other intents")


def home(repo):
    names = subprocess.run(
        ["git", "-C", repo, "ls-tree", "-r", "--name-only", "HEAD", "tests/en"], check=True, capture_output=True, text=True
    ).stdout.split()
    for name in names:
        # A test is a list of sentences, and the intent they have.
        sentences, now = [], None
        for line in shown(repo, name).splitlines():
            if found := re.match(r"\s+- (?!sentences)[\"']?(.*?)[\"']?$", line):
                if now is not None and ":" not in found[1]:
                    sentences.append(found[1])
            elif found := re.match(r"\s+name: (\w+)", line):
                tools = HOME.get(found[1])
                for text in sentences if tools else []:
                    # What is deleted is deleted here, and not ticked off.
                    deletes = tools == "complete_task" and text.startswith(("delete ", "remove "))
                    row(text, "complete_task delete_task" if deletes else tools, found[1])
                sentences, now = [], None
            if "sentences:" in line:
                sentences, now = [], True


if __name__ == "__main__":
    {"clinc": clinc, "home": home}[sys.argv[1]](*sys.argv[2:])
