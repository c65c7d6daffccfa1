#!/usr/bin/env python3
"""check-page.py PAGE JSON: the page is one file with the data of JSON, its tags are balanced, and it loads nothing."""

import base64
import gzip
import html.parser
import re
import sys

VOID = {"meta", "input", "br", "link", "img"}


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.data, self.title, self.wanted = [], [], "", "", None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        assert not {"src", "href", "srcset", "poster"} & set(attributes) or attributes.get("href", "").startswith("#"), (tag, attributes)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        self.wanted = attributes.get("id") if tag in ("script", "h1") else None
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
        self.wanted = None

    def handle_data(self, data):
        if self.wanted == "data":
            self.data += data
        elif self.wanted == "title":
            self.title += data


page, data = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
reader = Reader()
reader.feed(page)
assert not reader.open, reader.open
assert reader.title == "Two < three @DATA@", reader.title
assert gzip.decompress(base64.b64decode(reader.data)).decode() == data
assert len(reader.ids) == len(set(reader.ids)), "an id twice"
scripts = page.split('<script id="data"')[1].split("</script>", 1)[1]
asked = set(re.findall(r'getElementById\("([\w-]+)"\)', scripts))
assert asked and asked <= set(reader.ids), asked - set(reader.ids)
assert "default-src 'none'" in page and "Mike Bostock" in page and "BSD-3-Clause" in page
assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import)\s*\(", scripts)
