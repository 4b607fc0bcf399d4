"""readability-lxml and html2text over pages: `web_peers.py ROUNDS FILE`, one line of JSON."""

import json
import sys
import time

import html2text
from readability import Document


def to_markdown(page):
    writer = html2text.HTML2Text()
    writer.body_width = 0
    return writer.handle(page)


def article(page):
    return to_markdown(Document(page).summary())


def measure(convert, pages, rounds):
    texts = [convert(page) for page in pages]
    began = time.process_time()
    for _ in range(rounds):
        for page in pages:
            convert(page)
    return {"texts": texts, "cpuMs": (time.process_time() - began) * 1e3 / rounds / len(pages)}


pages = json.load(open(sys.argv[2]))
rounds = int(sys.argv[1])
print(json.dumps({"readability": measure(article, pages, rounds), "html2text": measure(to_markdown, pages, rounds)}))
