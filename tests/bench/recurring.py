"""When a schedule is due: the next times of the forms in which Hob shows one, for checks that compare times, not patterns."""

import re
from datetime import datetime, timedelta

DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
ORDINALS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "last": "L"}
# Two months show every rhythm of the sentences: fortnights, second Tuesdays, last Fridays.
WINDOW = timedelta(days=64)


def times(schedule, text, now, first=None):
    """The times in the two months after `now`; None if the form is not known. `first` is the next time, as Hob tells it."""
    if isinstance(schedule, dict):
        schedule = schedule.get("expression") or schedule.get("every") or schedule.get("at") or ""
    for form in (schedule, text):
        found = of_form(str(form or "").strip().lower(), now, first)
        if found is not None:
            return found
    return None


def of_form(form, now, first):
    if len(form.split()) in (5, 6) and re.match(r"^[\d*/,l#a-z-]+( [\d*/,l#a-z-]+){4,5}$", form) and not form.startswith("every"):
        return cron(form.split()[-5:], now)
    clock = re.findall(r"\b(\d{1,2}):(\d{2})\b", form)
    hours = [(int(h), int(m)) for h, m in clock]
    step = re.fullmatch(r"(?:every|pt?)\s*(\d+)?\s*(minute|min|m|hour|h|day|d|week|w)s?(?: .*)?", form)
    if step and first and not re.search(r"every (day|hour)\b.* at |weekday", form):
        unit = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[step[2][0]]
        return spaced(first, timedelta(**{unit: int(step[1] or 1)}), now)
    if re.search(r"every (other|second|2nd) (week|\w+day)|every (2|two) weeks|fortnight", form) and first:
        return spaced(first, timedelta(weeks=2), now)
    if not hours:
        return None
    named = [day for day in range(7) if re.search(rf"\b{DAYS[day]}\w*", form)]
    ordinal = re.search(r"\b(" + "|".join(ORDINALS) + r")\b (?:\w+day)", form)
    monthday = re.search(r"on the (\d{1,2})(?:st|nd|rd|th)", form)
    if ordinal and named:
        week = f"{named[0]}L" if ORDINALS[ordinal[1]] == "L" else f"{named[0]}#{ORDINALS[ordinal[1]]}"
        rest = ["*", "*", week]
    elif monthday:
        rest = [monthday[1], "*", "*"]
    elif "weekday" in form:
        rest = ["*", "*", "1-5"]
    elif "weekend" in form:
        rest = ["*", "*", "0,6"]
    elif named and "every" in form:
        rest = ["*", "*", ",".join(map(str, named))]
    elif re.search(r"every day|daily|every morning|every evening", form):
        rest = ["*", "*", "*"]
    else:
        return None
    return sorted(at for h, m in hours for at in cron([str(m), str(h), *rest], now))


def spaced(first, step, now):
    found, at = [], first
    while at < now + WINDOW and len(found) < 2000:
        found.append(at)
        at += step
    return found


def field(text, low, high, names=None):
    """The values of a cron field."""
    found = set()
    for part in text.split(","):
        part, _, step = part.partition("/")
        begin, _, end = part.partition("-")
        if part == "*":
            begin, end = low, high
        else:
            begin = value(begin, names)
            end = value(end, names) if end else (high if step else begin)
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


def value(text, names):
    if names and text[:3] in names:
        return names.index(text[:3]) + (1 if names is MONTHS else 0)
    return int(text)


def cron(fields, now):
    """The times of a cron pattern of five fields; `n#k` and `nL` are days of the week in the month."""
    minute, hour, day, month, week = fields
    try:
        minutes, hours, months = field(minute, 0, 59), field(hour, 0, 23), field(month, 1, 12, MONTHS)
        in_month = re.fullmatch(r"(\w+?)(?:#(\d|l)|l)", week) if "#" in week or re.fullmatch(r"\d+l", week) else None
        if in_month:
            weekdays, nth = {value(in_month[1], DAYS) % 7}, in_month[2] or "l"
        else:
            weekdays, nth = {d % 7 for d in field(week, 0, 7, DAYS)}, None
        last_day = day == "l"
        days = set() if last_day else field(day, 1, 31)
    except ValueError:
        return None
    either = day != "*" and week != "*" and not nth
    found, at = [], now.replace(hour=0, minute=0, second=0, microsecond=0)
    while at < now + WINDOW:
        falls = at.isoweekday() % 7 in weekdays
        if falls and nth:
            falls = (at + timedelta(days=7)).month != at.month if nth == "l" else (at.day - 1) // 7 + 1 == int(nth)
        dated = (at + timedelta(days=1)).month != at.month if last_day else at.day in days
        if at.month in months and (falls or dated if either else falls and dated):
            found += [one for h in sorted(hours) for m in sorted(minutes) if (one := at.replace(hour=h, minute=m)) > now]
        at += timedelta(days=1)
    return found


def local(text):
    """A moment as Hob writes it, without its zone: in winter London is at UTC."""
    return datetime.fromisoformat(re.sub(r"(Z|[+-]\d\d:\d\d)$", "", text).split(".")[0])
