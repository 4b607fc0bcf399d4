"""Figures and tables on standard output."""

import statistics


def middle(values):
    return statistics.median(values)


def tenth(values):
    """The value that one in ten exceeds."""
    return sorted(values)[max(0, -(-len(values) * 9 // 10) - 1)]


def table(title, head, rows):
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    print(f"\n{title}")
    for row in cells:
        print("  " + row[0].ljust(widths[0]) + "".join("  " + c.rjust(w) for c, w in zip(row[1:], widths[1:])))


def number(value, digits=1):
    return "–" if value is None else f"{value:,.{digits}f}"
