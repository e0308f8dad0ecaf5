#!/usr/bin/env python3
"""Runs benches/peer.sql: peer.py INPUT STORE. Needs the Python package duckdb 2.x."""

import pathlib
import sys

import duckdb


def main():
    source, store = sys.argv[1:3]
    sql = (pathlib.Path(__file__).parent / "peer.sql").read_text(encoding="utf-8")
    with duckdb.connect(store) as connection:
        # As taco-trace's own store is opened.
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(sql.replace("$path", "'" + source.replace("'", "''") + "'"))


if __name__ == "__main__":
    main()
