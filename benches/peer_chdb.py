#!/usr/bin/env python3
"""The same job in ClickHouse: peer_chdb.py INPUT STORE. Needs the Python package chdb.

Leaves out the same things as benches/peer.sql does. STORE is a folder. With --sums in place of INPUT it prints the
count and the four sums of a store.
"""

import json
import sys

from chdb import session

STRUCTURE = """
resourceSpans Array(Tuple(
    resource Tuple(attributes Array(Tuple(`key` String, value Tuple(stringValue String)))),
    scopeSpans Array(Tuple(
        scope Tuple(name String),
        spans Array(Tuple(
            traceId String, spanId String, parentSpanId String,
            startTimeUnixNano Int64, endTimeUnixNano Int64,
            attributes Array(Tuple(`key` String, value Tuple(stringValue String))),
            status Tuple(code UInt8, message String)))))))
"""


def attribute(name, of="p.attributes"):
    return f"arrayFirst(a -> a.key = '{name}', {of}).value.stringValue"


def ingest(source, store):
    connection = session.Session(store)
    connection.query("CREATE DATABASE IF NOT EXISTS bench ENGINE = Atomic")
    connection.query(
        f"""
        CREATE TABLE bench.spans ENGINE = MergeTree ORDER BY tuple() AS
        SELECT
            p.traceId AS trace_id,
            p.spanId AS span_id,
            p.parentSpanId AS recorded_parent_span_id,
            formatDateTime(
                fromUnixTimestamp64Nano(p.startTimeUnixNano, 'Asia/Seoul'), '%Y-%m-%dT%H:%i:%S.%f+09:00'
            ) AS start_time,
            operation,
            if(operation = 'invoke_agent', {attribute("gen_ai.agent.name")}, '') AS agent_name,
            {attribute("gen_ai.tool.name")} AS tool_name,
            {attribute("gen_ai.tool.call.arguments")} AS tool_args,
            if(p.status.code = 2, 'error', 'ok') AS status,
            intDiv(p.endTimeUnixNano - p.startTimeUnixNano, 1000000) AS duration_ms,
            p.startTimeUnixNano AS start_ns,
            p.endTimeUnixNano AS end_ns,
            p.endTimeUnixNano - p.startTimeUnixNano AS duration_ns,
            {attribute("gen_ai.tool.call.id")} AS call_id,
            {attribute("gen_ai.tool.call.result")} AS tool_result,
            {attribute("error.type")} AS error_type,
            p.status.message AS status_message,
            service_name,
            scope_name
        FROM (
            SELECT
                {attribute("service.name", "r.resource.attributes")} AS service_name,
                s.scope.name AS scope_name,
                p,
                {attribute("gen_ai.operation.name")} AS operation
            FROM file('{source}', JSONEachRow, '{STRUCTURE}')
            ARRAY JOIN resourceSpans AS r
            ARRAY JOIN r.scopeSpans AS s
            ARRAY JOIN s.spans AS p
        )
        WHERE operation IN ('invoke_agent', 'execute_tool')
        """.replace("\n", " ")
    )
    connection.close()


def sums(store):
    connection = session.Session(store)
    answer = connection.query(
        """
        SELECT
            count() AS kept,
            sum(duration_ms) AS duration_ms,
            countIf(operation = 'execute_tool' AND status = 'error') AS error_calls,
            sum(start_ns % 1000000000) AS start_ns_below_second,
            sum(length(tool_args)) AS argument_bytes
        FROM bench.spans
        """,
        "JSONEachRow",
    )
    print(json.dumps({name: int(value) for name, value in json.loads(str(answer)).items()}))
    connection.close()


if __name__ == "__main__":
    if sys.argv[1] == "--sums":
        sums(sys.argv[2])
    else:
        ingest(*sys.argv[1:3])
