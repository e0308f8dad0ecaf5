#!/usr/bin/env python3
"""Measures the rule views in a store of many calls, against two yardsticks in the same store.

    rules.py --into RAW.jsonl --program target/release/taco-trace --generate target/release/examples/generate
             --folder FOLDER [--calls 1000000,10000000] [--rounds 3]
    rules.py --into RAW.jsonl --program PROGRAM --store STORE --case NAME

The store is made by the program from a small file, so that tables and views are its own; the calls of that file are
then multiplied in SQL under new ids: 1 to 7 calls a run, in 2 of 100 runs all of them equal. Rows are copied whole,
so that columns that this file does not know are filled too. With --store a store that is there is measured.

Views run in the stock DuckDB of the Python package duckdb 2.x; all runs, and the newest hundredth of them, are judged by
the program. CPU seconds are those of this process.
"""

import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys
import time

import duckdb

from measure import OTHERS_CORES, OTHERS_SLACK_SECONDS, busy_seconds
from measure import run as run_command

# The set of rule views to measure: None takes the newest of the store.
RULE_SET = None
# 2026-10-01 00:00 UTC; a run starts each second.
FIRST_START_NS = 1_790_812_800_000_000_000
RUN_NS = 1_000_000_000
CALLS_PER_RUN = 4
YARDSTICKS = {
    "group_by_trace": "SELECT COUNT(*) FROM (SELECT trace_id, COUNT(*) FROM spans GROUP BY trace_id)",
    "row_number": """
        SELECT MAX(place) FROM (
            SELECT ROW_NUMBER() OVER (PARTITION BY trace_id ORDER BY start_ns, span_id) AS place FROM spans
        )""",
}


def newest_set(connection):
    names = [name for (name,) in connection.execute(
        "SELECT view_name FROM duckdb_views() WHERE view_name SIMILAR TO 'set_diagnosis_v[0-9]+'").fetchall()]
    return max(names, key=lambda name: int(name.rsplit("_v", 1)[1]))


def rule_views(connection, rule_set):
    (sql,) = connection.execute("SELECT sql FROM duckdb_views() WHERE view_name = ?", [rule_set]).fetchone()
    return sorted(set(re.findall(r"rule_\w+_v\d+", sql)))


def make_store(arguments, calls):
    """A store of about so many calls, made once."""
    path = arguments.folder / f"rules-{calls}.duckdb"
    if path.exists():
        return path
    small, part = arguments.folder / "rules-small.jsonl", path.with_suffix(".part")
    part.unlink(missing_ok=True)
    subprocess.run([arguments.generate, small, "5M", "7", "lean"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([arguments.program, "ingest", small, "--tools", f"{small}.tools.json", "--db", part, "--quiet"],
                   check=True, stderr=subprocess.DEVNULL)
    with duckdb.connect(str(part)) as connection:
        fill(connection, calls // CALLS_PER_RUN)
    part.rename(path)
    return path


def fill(connection, runs):
    connection.execute("""
        CREATE TEMP TABLE sample_call AS
        SELECT *, ROW_NUMBER() OVER (ORDER BY trace_id, span_id) - 1 AS place
        FROM spans WHERE operation = 'execute_tool';
        CREATE TEMP TABLE sample_root AS
        SELECT *, ROW_NUMBER() OVER (ORDER BY trace_id, span_id) - 1 AS place
        FROM spans WHERE operation = 'invoke_agent' AND parent_span_id IS NULL;
        CREATE TEMP TABLE sample_trace AS SELECT * FROM traces LIMIT 1;
        DELETE FROM spans;
        DELETE FROM traces;
        DELETE FROM span_links;
    """)
    (calls,) = connection.execute("SELECT COUNT(*) FROM sample_call").fetchone()
    (roots,) = connection.execute("SELECT COUNT(*) FROM sample_root").fetchone()
    connection.execute(f"""
        CREATE TEMP TABLE run AS
        SELECT
            k,
            md5(CAST(k AS VARCHAR)) AS new_trace,
            substr(md5('root' || k), 1, 16) AS root,
            1 + hash(k) % {2 * CALLS_PER_RUN - 1} AS calls,
            hash(k, 1) % 100 < 2 AS repeats,
            {FIRST_START_NS} + k * {RUN_NS} AS run_start
        FROM range({runs}) t(k)""")
    connection.execute(f"""
        INSERT INTO spans BY NAME
        SELECT s.* EXCLUDE (place) REPLACE (
            new_trace AS trace_id,
            root AS span_id,
            NULL AS parent_span_id,
            NULL AS recorded_parent_span_id,
            FALSE AS parent_lost,
            run_start AS start_ns,
            run_start + s.duration_ns AS end_ns
        )
        FROM run JOIN sample_root s ON s.place = hash(k, 2) % {roots}""")
    connection.execute(f"""
        INSERT INTO spans BY NAME
        SELECT s.* EXCLUDE (place) REPLACE (
            new_trace AS trace_id,
            substr(md5(k || '.' || j), 1, 16) AS span_id,
            root AS parent_span_id,
            root AS recorded_parent_span_id,
            run_start + j * 50000000 + hash(k, j) % 40000000 AS start_ns,
            run_start + j * 50000000 + hash(k, j) % 40000000 + s.duration_ns AS end_ns
        )
        FROM (SELECT *, unnest(range(CAST(calls AS BIGINT))) AS j FROM run)
        JOIN sample_call s ON s.place = (CASE WHEN repeats THEN hash(k, 3) ELSE hash(k, j, 4) END) % {calls}""")
    connection.execute("""
        INSERT INTO traces BY NAME SELECT s.* REPLACE (new_trace AS trace_id) FROM run CROSS JOIN sample_trace s""")
    connection.execute("CHECKPOINT")


class Meter:
    def __init__(self, into, connection):
        self.into, self.connection = into, connection

    def run(self, case, who, nth, statement, parameters=None):
        busy, wall, cpu = busy_seconds(), time.perf_counter(), time.process_time()
        self.connection.execute(statement, parameters or [])
        rows = self.connection.fetchall()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        others = max(busy_seconds() - busy - cpu, 0.0)
        self.note(case, who, nth, {
            "wall": round(wall, 4), "cpu": round(cpu, 4), "peak_mb": 0, "exit": 0, "others": round(others, 3),
            "shared": others > OTHERS_CORES * wall + OTHERS_SLACK_SECONDS})
        return rows

    def note(self, case, who, nth, measured):
        if measured["exit"] != 0:
            sys.exit(f"{who} ended with {measured['exit']}")
        record = {"case": case, "who": who, "round": nth, "bytes": 0, **measured}
        with open(self.into, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        note = "  (machine shared)" if record["shared"] else ""
        times = f"wall {record['wall']:7.3f} s  CPU {record['cpu']:7.3f} s"
        print(f"{case:24} {who:30} round {nth}  {times}{note}", file=sys.stderr)


def measure(arguments, case, path, rounds):
    # A store is opened for writing, as `diagnose` does.
    with duckdb.connect(str(path)) as connection:
        meter = Meter(arguments.into, connection)
        rule_set = RULE_SET or newest_set(connection)
        keep = "CREATE OR REPLACE TEMP TABLE found AS SELECT * FROM "
        count, first, last = connection.execute("SELECT COUNT(*), MIN(start_ns), MAX(start_ns) FROM spans").fetchone()
        print(f"{path}: {count} spans, {rule_set}", file=sys.stderr)
        for nth in range(rounds):
            for view in rule_views(connection, rule_set):
                meter.run(case, view, nth, keep + view)
            for who, statement in YARDSTICKS.items():
                meter.run(case, who, nth, statement)
            meter.run(case, "all_rules", nth, keep + rule_set)
    # By the program, which limits what the views read and not the views.
    since = datetime.datetime.fromtimestamp((last - (last - first) // 100) / 1e9, datetime.UTC).isoformat()
    diagnose = [arguments.program, "diagnose", "--db", str(path), "--format", "json", "--limit", "1"]
    for nth in range(rounds):
        meter.note(case, "diagnose_all", nth, run_command(diagnose))
        meter.note(case, "diagnose_newest", nth, run_command([*diagnose, "--since", since]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--generate")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--calls", default="1000000,10000000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store")
    parser.add_argument("--case", default="rules")
    arguments = parser.parse_args()
    if arguments.store:
        measure(arguments, arguments.case, arguments.store, arguments.rounds)
        return
    for calls in map(int, arguments.calls.split(",")):
        measure(arguments, f"rules-{calls}", make_store(arguments, calls), arguments.rounds)


if __name__ == "__main__":
    main()
