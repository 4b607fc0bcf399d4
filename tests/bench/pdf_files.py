"""Makes PDF files with two writers that share no code, and prints their words as JSON: `pdf_files.py FOLDER`."""

import json
import os
import random
import sys
from pathlib import Path

from fpdf import FPDF
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import ListFlowable, Paragraph, SimpleDocTemplate, Spacer, Table

# The fonts of the crate that Hob takes its letters from.
FONT = next(Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")).glob("registry/src/*/dejavu-*/assets/*/ttf/DejaVuSans.ttf"))
WORDS = ("the ferry leaves at noon when water is calm and boats return before evening Größe Straße mañana señor où cœur zażółć jaźń "
         "Καλημέρα κόσμε Съешь булок office file flow affair AVATAR To. Yes, 12.50 € (well) “so”").split()
PAGES = 12


def text(random, count):
    return " ".join(random.choice(WORDS) for _ in range(count))


def paragraphs(random):
    return [text(random, random.randint(30, 90)) for _ in range(PAGES * 4)]


def rows(random):
    return [["Item", "Count", "Price"], *([text(random, 2), str(random.randint(1, 99)), f"{random.randint(1, 999)}.50"] for _ in range(12))]


def by_reportlab(path, random):
    pdfmetrics.registerFont(TTFont("Letters", FONT))
    style = getSampleStyleSheet()
    for name in ("Normal", "Heading1"):
        style[name].fontName = "Letters"
    said, flow = [], []
    for at, words in enumerate(paragraphs(random)):
        title = f"Chapter {at}"
        flow += [Paragraph(title, style["Heading1"]), Paragraph(words, style["Normal"]), Spacer(1, 8)]
        said += [title, words]
        if at % 6 == 0:
            items, cells = [text(random, 5) for _ in range(4)], rows(random)
            flow.append(ListFlowable([Paragraph(item, style["Normal"]) for item in items], bulletType="bullet", start="–"))
            flow.append(Table(cells, style=[("FONTNAME", (0, 0), (-1, -1), "Letters"), ("GRID", (0, 0), (-1, -1), 0.5, colors.grey)]))
            said += ["– " + item for item in items] + [" ".join(row) for row in cells]
    SimpleDocTemplate(str(path), pagesize=A4).build(flow)
    return " ".join(said)


def by_fpdf(path, random):
    pdf, said = FPDF(), []
    pdf.add_font("Letters", fname=str(FONT))
    pdf.add_font("Letters", style="B", fname=str(FONT.with_name("DejaVuSans-Bold.ttf")))
    pdf.set_auto_page_break(True, 20)
    pdf.add_page()
    for at, words in enumerate(paragraphs(random)):
        pdf.set_font("Letters", size=16)
        pdf.multi_cell(0, 9, f"Chapter {at}", new_x="LMARGIN", new_y="NEXT")
        pdf.set_font("Letters", size=10)
        pdf.multi_cell(0, 5, words, new_x="LMARGIN", new_y="NEXT")
        said += [f"Chapter {at}", words]
        if at % 6 == 0:
            cells = rows(random)
            with pdf.table() as table:
                for row in cells:
                    table.row(row)
            said += [" ".join(row) for row in cells]
    pdf.output(str(path))
    return " ".join(said)


def main():
    folder, found = Path(sys.argv[1]), {}
    for name, make in [("reportlab", by_reportlab), ("fpdf2", by_fpdf)]:
        found[name] = make(folder / f"{name}.pdf", random.Random(7)).split()
    print(json.dumps(found))


main()
