#!/usr/bin/env python3
"""Checks that a contestant did the job: count and four sums of its store against those of the generator.

    check.py STORE unique|delivered SUMS.json ...

`unique`: each span once, as taco-trace keeps them; `delivered`: repeated ones too, as the peers keep them. Sums of
several files are added up. STORE is a DuckDB file, or a folder of chdb.
"""

import json
import pathlib
import subprocess
import sys

NAMES = ["kept", "duration_ms", "error_calls", "start_ns_below_second", "argument_bytes"]
SQL = """
SELECT
    COUNT(*),
    SUM(duration_ms),
    COUNT(*) FILTER (operation = 'execute_tool' AND status = 'error'),
    SUM(start_ns % 1000000000),
    SUM(strlen(tool_args)) {lent}
FROM spans
"""
# Arguments that a span borrowed from the message that asked for the call are not its own. Peers borrow none.
LENT = "FILTER (NOT args_from_messages)"


def sums(store):
    if pathlib.Path(store).is_dir():
        peer = pathlib.Path(__file__).parent / "peer_chdb.py"
        said = subprocess.run([sys.executable, peer, "--sums", store], stdout=subprocess.PIPE, check=True)
        return json.loads(said.stdout)
    import duckdb

    with duckdb.connect(store, read_only=True) as connection:
        columns = [name for name, *_ in connection.execute("DESCRIBE spans").fetchall()]
        sql = SQL.format(lent=LENT if "args_from_messages" in columns else "")
        return dict(zip(NAMES, map(int, connection.execute(sql).fetchone())))


def main():
    store, which, *files = sys.argv[1:]
    found = sums(store)
    wanted = dict.fromkeys(NAMES, 0)
    for file in files:
        for name, value in json.loads(pathlib.Path(file).read_text(encoding="utf-8"))[which].items():
            wanted[name] += value
    if found != wanted:
        sys.exit(f"{store}: expected {wanted}, found {found}")


if __name__ == "__main__":
    main()
