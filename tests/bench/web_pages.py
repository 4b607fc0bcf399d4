"""Thirty pages of our own with a known main text, and how well Hob, readability-lxml and html2text find it.

Each of the fifteen texts of web_texts.py stands in two of six frames: menus, side columns, cookie banners, advertising, related stories,
comments and scripts around it, as sites of the last twenty years have them."""

import html
import json
import re
from collections import Counter

from programs import HERE, line, parts, peers
from tables import middle, number, table
from web_texts import TEXTS

MENU = ["Home", "Latest", "Politics", "Business", "Culture", "Sport", "Weather", "Archive", "Subscribe", "Contact"]
STORIES = ["Ten knives every kitchen needs", "Why your neighbour's hedge is taller", "The island that banned umbrellas",
           "How to fold a fitted sheet", "Readers' letters of the week", "Our favourite soups", "Quiz: which cheese are you?"]
NOISE = "We value your privacy. We and our partners store information on a device and process personal data to show you advertising."


def links(words, inner="li"):
    return "".join(f"<{inner}><a href='/{n}'>{word}</a></{inner}>" for n, word in enumerate(words))


def semantic(language, title, main):
    return f"""<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title} | The Lakeside</title>
<style>.sr-only{{position:absolute;left:-9999px}}</style><script>window.x = {{"a": "<p>not text</p>"}}</script></head><body>
<a class="sr-only" href="#main">Skip to content</a><header><img src="/logo.svg" alt="The Lakeside"><nav><ul>{links(MENU)}</ul></nav>
</header><main id="main"><article>{main}</article><aside><h2>Most read</h2><ol>{links(STORIES)}</ol></aside></main>
<footer><p>© 2026 The Lakeside. All rights reserved. Imprint, privacy, terms of use.</p></footer>
<div class="cookie-banner"><p>{NOISE}</p><button>Accept all</button></div></body></html>"""


def soup(language, title, main):
    return f"""<!DOCTYPE html><html lang="{language}"><head><title>{title} - Lakeside Online</title></head><body><div id="page">
<div id="top"><div class="topmenu">{links(MENU, "span")}</div></div><div id="wrap"><div id="left" class="sidebar"><div class="box">
<h3>Newsletter</h3><p>Get the best of the lake every morning, free of charge, and unsubscribe whenever you like.</p></div><div class="box">
<h3>Archive</h3><ul>{links([f"Month {n}" for n in range(1, 13)])}</ul></div></div><div id="middle"><div class="crumbs breadcrumb">
<a href="/">Home</a> &raquo; <a href="/x">Section</a></div><div class="entry">{main}</div><div class="share"><a href="#">Share</a>
<a href="#">Tweet</a><a href="#">Mail</a></div><div class="related"><h3>You may also like</h3><ul>{links(STORIES)}</ul></div></div>
<div class="clear"></div></div><div id="bottom" class="footer">Copyright Lakeside Online, powered by a small server.</div></div>
</body></html>"""


def tables(language, title, main):
    return f"""<html><head><title>{title}</title></head><body bgcolor="#ffffff"><table width="100%"><tr><td colspan="3">
<img src="banner.gif" width="468" height="60" alt="Advertisement: cheap flights to everywhere"></td></tr><tr><td width="150" valign="top">
{links(MENU, "p")}</td><td valign="top">{main}</td><td width="120" valign="top"><font size="1">{links(STORIES, "p")}</font></td></tr>
<tr><td colspan="3" align="center"><font size="1">Best viewed with 800 by 600 pixels. You are visitor 48,213.</font></td></tr></table>
</body></html>"""


def form(language, title, main):
    return f"""<!DOCTYPE html><html lang="{language}"><head><title>{title}</title></head><body><form method="post" id="aspnetForm">
<input type="hidden" name="__VIEWSTATE" value="{'A' * 3000}"><div class="header-area"><ul class="menu">{links(MENU)}</ul><input name="q">
<select><option>All</option><option>News</option></select></div><div class="container"><div class="row"><div class="col-8">{main}</div>
<div class="col-4"><div class="widget"><h4>Trending</h4><ul>{links(STORIES)}</ul></div><div class="widget ad"><p>Advertisement. Buy two
pairs of boots and pay for one, this week only.</p></div></div></div></div><div class="footer-area"><p>Terms. Privacy. {NOISE}</p></div>
</form></body></html>"""


def comments(language, title, main):
    said = ["First!", "I do not agree with this at all, and I have told my cousin so.", "Great read, thank you for it.",
            "Can somebody tell me where to buy the thing in the third picture?"]
    below = "".join(f"<li class='comment'><b>guest{n}</b><p>{text}</p></li>" for n, text in enumerate(said))
    return f"""<!doctype html><html lang="{language}"><head><title>{title} – A Small Log</title></head><body class="single">
<div class="site-header"><p class="site-title"><a href="/">A Small Log</a></p><div class="nav-links">{links(MENU[:5], "span")}</div></div>
<div class="site-content"><div class="post-entry hentry">{main}</div><div id="comments" class="comments-area"><h2>4 thoughts</h2>
<ol>{below}</ol><div class="respond"><p>Leave a reply. Your address will not be published.</p><textarea></textarea></div></div></div>
<div class="widget-area"><ul>{links(STORIES)}</ul></div><div class="site-info">Proudly made by hand.</div></body></html>"""


def app(language, title, main):
    return f"""<!doctype html><html lang="{language}"><head><title>{title} :: Docs</title></head><body><div class="layout">
<div class="sidenav" role="navigation"><ul>{links([f"Chapter {n}" for n in range(1, 25)])}</ul></div><div class="content-wrapper">
<div class="toolbar"><button>Copy link</button><button>Print</button></div><div role="main"><div class="doc">{main}</div>
<div class="pagination"><a href="/prev">Previous</a><a href="/next">Next</a></div></div></div></div>
<div role="dialog" hidden><p>Your session has expired. Sign in again to go on with your work.</p></div>
<noscript><p>This page needs JavaScript for search.</p></noscript><div style="display:none"><p>{NOISE}</p></div></body></html>"""


FRAMES = [semantic, soup, tables, form, comments, app]


def pages():
    """Name → page and the words of its main text."""
    made = {}
    for at, (name, (language, main)) in enumerate(TEXTS.items()):
        title = re.search("<h1>(.*?)</h1>", main).group(1)
        for frame in (FRAMES[at % 6], FRAMES[(at + 1 + at // 6) % 6]):
            made[f"{name}, {frame.__name__}"] = (frame(language, title, main), words(plain(main)))
    return made


def plain(fragment):
    return html.unescape(re.sub("<[^>]+>", " ", fragment))


def words(text):
    """Words as a multiset; each character of Japanese is one."""
    text = re.sub(r"\]\([^)]*\)", "] ", text)
    return Counter(re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\W_\u3040-\u30ff\u4e00-\u9fff]+", text.lower()))


def score(text, wanted):
    found = words(text)
    both = sum((found & wanted).values())
    return 2 * both / max(1, sum(found.values()) + sum(wanted.values()))


def web_page(scratch, rounds):
    made = pages()
    if len(made) != 30:
        raise SystemExit(f"{len(made)} pages instead of 30")
    file = scratch / "web-pages.json"
    file.write_text(json.dumps([page for page, _ in made.values()]))
    bench, python = parts(), peers()
    ours = [line(bench, "page", rounds, file) for _ in range(3)]
    theirs = [line(python, HERE / "web_peers.py", rounds, file) for _ in range(3)]
    tools = {"Hob": [run["hob"] for run in ours], "readability-lxml": [run["readability"] for run in theirs],
             "html2text": [run["html2text"] for run in theirs]}
    found, rows = {"pages": {}}, []
    bytes_of_pages = sum(len(page.encode()) for page, _ in made.values())
    for tool, runs in tools.items():
        scores = [score(text, wanted) for text, (_, wanted) in zip(runs[0]["texts"], made.values())]
        size = sum(len(text.encode()) for text in runs[0]["texts"])
        found[tool] = {"f1": sum(scores) / len(scores), "worst": min(scores), "cpuMs": middle([run["cpuMs"] for run in runs]),
                       "bytes": size, "share": size / bytes_of_pages}
        for name, value in zip(made, scores):
            found["pages"].setdefault(name, {})[tool] = round(value, 3)
    for tool, of in found.items():
        if tool != "pages":
            ratio = found["Hob"]["cpuMs"] / of["cpuMs"]
            rows.append([tool, number(of["f1"], 3), number(of["worst"], 3), number(of["cpuMs"], 3), f"{ratio:.3f}×",
                         number(of["bytes"] / 30, 0), f"{100 * of['share']:.0f} %"])
    head = ["30 pages of our own", "F1", "worst", "CPU ms a page", "Hob : it", "bytes a page", "of the HTML"]
    table(f"Page to Markdown ({rounds} rounds)", head, rows)
    print("  F1: words of the result against those of the main text. readability-lxml's article goes through html2text, too; html2text"
          " alone keeps all of the page.")
    return found
