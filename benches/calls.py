#!/usr/bin/env python3
"""Makes calls for `taco-trace calls check`: benches/calls.py FOLDER ROWS writes calls.jsonl, calls.json (one array),
calls.csv and specs.json, the same rows in each. Seeded: the same ROWS give the same bytes. One row in ten deviates, one in
a thousand repeats a number."""

import csv
import json
import random
import sys
from pathlib import Path

TOOLS = ["search_docs", "Search-Docs", "send_notice", "get budget", "문서_검색"]
SPECS = [
    ("search_docs", "scope", "team|department", None, True),
    ("search_docs", "top_k", None, 50, False),
    ("search_docs", "query", None, None, True),
    ("send_notice", "scope", "mail|messenger", None, False),
    ("send_notice", "query", None, None, True),
    ("get_budget", "top_k", None, 999.5, True),
    ("get_budget", "scope", None, None, False),
    ("문서 검색", "query", None, None, True),
    ("문서 검색", "top_k", None, 20, False),
]
COLUMNS = ["call_no", "tool_name_raw", "arg_name", "arg_value"]


def row(random_, number):
    """One call."""
    if number and random_.random() < 0.001:
        number = random_.randrange(number)
    tool = "export_ledger" if random_.random() < 0.01 else random_.choice(TOOLS)
    argument = random_.choice(["scope", "top_k", "query"])
    if random_.random() < 0.02:
        value = None
    elif argument == "scope":
        value = random_.choice(["team", "department", "mail", "global"])
    elif argument == "top_k":
        value = str(random_.choice([5, 10, 20, random_.randrange(70)]))
    else:
        value = "예산 " + str(random_.randrange(10**6))
    return [f"CL-{number:07}", tool, argument, value]


def main(folder, rows):
    """Writes the files."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    keys = ["tool_id", "arg_name", "allowed_values", "max_number", "is_required"]
    specs = [dict(zip(keys, spec)) for spec in SPECS]
    (folder / "specs.json").write_text(json.dumps(specs, ensure_ascii=False), encoding="utf-8")
    random_ = random.Random(1)
    with (
        open(folder / "calls.jsonl", "w", encoding="utf-8") as lines,
        open(folder / "calls.json", "w", encoding="utf-8") as array,
        open(folder / "calls.csv", "w", encoding="utf-8", newline="") as table,
    ):
        writer = csv.writer(table)
        writer.writerow(COLUMNS)
        for number in range(int(rows)):
            cells = row(random_, number)
            text = json.dumps(dict(zip(COLUMNS, cells)), ensure_ascii=False)
            lines.write(text + "\n")
            array.write(("[" if number == 0 else ",\n") + text)
            writer.writerow(cells)
        array.write("]\n")


main(*sys.argv[1:])
