-- Creates the tables of a store. Forward only: a released file never changes.
-- Old data: none, this is the first migration.
--
-- There is no primary key and no index: an index slows appends by a third and
-- blocks dropping a column; duplicates are settled before rows are appended.

-- One row per kept span: the seed's ten columns first, under their own names.
CREATE TABLE spans (
    trace_id VARCHAR NOT NULL,
    span_id VARCHAR NOT NULL,
    parent_span_id VARCHAR,
    start_time VARCHAR NOT NULL,
    operation VARCHAR NOT NULL,
    agent_name VARCHAR,
    tool_name VARCHAR,
    tool_args VARCHAR,
    status VARCHAR NOT NULL,
    duration_ms BIGINT NOT NULL,
    start_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    duration_ns BIGINT NOT NULL,
    args_key VARCHAR,
    args_shape VARCHAR,
    tool_args_raw VARCHAR,
    recorded_parent_span_id VARCHAR,
    parent_lost BOOLEAN NOT NULL,
    call_id VARCHAR,
    tool_result VARCHAR,
    error_type VARCHAR,
    status_message VARCHAR,
    service_name VARCHAR,
    scope_name VARCHAR,
    convention VARCHAR NOT NULL,
    source_id BIGINT NOT NULL,
    line BIGINT NOT NULL,
    batch_id BIGINT NOT NULL
);

-- Which top-level keys of which types the arguments of calls have. Calls share
-- few shapes, so the argument rule looks at each shape once (24 times cheaper
-- than a row per call and key, at a million calls).
CREATE TABLE arg_shapes (
    args_shape VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    json_type VARCHAR NOT NULL,
    written_type VARCHAR NOT NULL,
    source_id BIGINT NOT NULL
);

-- One row per dropped or skipped span with readable ids: it stays transparent
-- when the nearest kept ancestor of a span is looked up.
CREATE TABLE span_links (
    trace_id VARCHAR NOT NULL,
    span_id VARCHAR NOT NULL,
    parent_span_id VARCHAR,
    source_id BIGINT NOT NULL
);

-- One row per trace with a kept span, and the tool set that was in force when
-- it first came in.
CREATE TABLE traces (
    trace_id VARCHAR NOT NULL,
    tool_set VARCHAR,
    batch_id BIGINT NOT NULL
);

-- One row per version of tools.json; tool_set is the sha256 of its content.
CREATE TABLE tool_sets (
    tool_set VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    tools BIGINT NOT NULL,
    loaded_at VARCHAR NOT NULL
);

CREATE TABLE tool_definitions (
    tool_name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    json_schema VARCHAR NOT NULL,
    timeout_ms BIGINT,
    max_retries BIGINT,
    schema_readable BOOLEAN NOT NULL,
    tool_set VARCHAR NOT NULL,
    position BIGINT NOT NULL
);

-- One row per key that a tool's schema names.
CREATE TABLE tool_params (
    tool_set VARCHAR NOT NULL,
    tool_name VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    required BOOLEAN NOT NULL,
    position BIGINT,
    required_position BIGINT,
    declared_type VARCHAR
);

-- One row per JSON type that a key accepts; number stands for number and
-- integer. A key without a row here accepts every type.
CREATE TABLE tool_param_types (
    tool_set VARCHAR NOT NULL,
    tool_name VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    json_type VARCHAR NOT NULL
);

-- One row per run of ingest.
CREATE TABLE batches (
    batch_id BIGINT NOT NULL,
    started_at VARCHAR NOT NULL,
    tool_set VARCHAR
);

-- One row per file read: what it was, how far it was read, what came of it.
CREATE TABLE sources (
    source_id BIGINT NOT NULL,
    batch_id BIGINT NOT NULL,
    path VARCHAR NOT NULL,
    size_bytes BIGINT NOT NULL,
    modified_ns BIGINT,
    content_hash VARCHAR NOT NULL,
    lines BIGINT NOT NULL,
    lines_skipped BIGINT NOT NULL,
    spans_seen BIGINT NOT NULL,
    spans_kept BIGINT NOT NULL,
    spans_dropped BIGINT NOT NULL,
    spans_redelivered BIGINT NOT NULL,
    spans_skipped BIGINT NOT NULL
);

-- One row per dropped operation of a source.
CREATE TABLE dropped_operations (
    source_id BIGINT NOT NULL,
    operation VARCHAR NOT NULL,
    spans BIGINT NOT NULL
);

-- One row per problem met while reading.
CREATE TABLE ingest_issues (
    batch_id BIGINT NOT NULL,
    source_id BIGINT,
    source VARCHAR NOT NULL,
    severity VARCHAR NOT NULL,
    line BIGINT NOT NULL,
    byte_offset BIGINT NOT NULL,
    trace_id VARCHAR,
    span_id VARCHAR,
    code VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    raw VARCHAR NOT NULL
);

-- What the rule views judge. Always one row: with scoped true only the traces
-- in judge_scope, else all; tool_set_override is used for every trace when it
-- is set, tool_set_default for those that came in before any tools.json.
CREATE TABLE judge_settings (
    scoped BOOLEAN NOT NULL,
    tool_set_override VARCHAR,
    tool_set_default VARCHAR
);
INSERT INTO judge_settings VALUES (FALSE, NULL, NULL);

CREATE TABLE judge_scope (
    trace_id VARCHAR NOT NULL
);

-- One row per run of diagnose over the store: which rule set judged.
CREATE TABLE judgements (
    judged_at VARCHAR NOT NULL,
    rule_set VARCHAR NOT NULL,
    rule_set_sha256 VARCHAR NOT NULL,
    tool_set_override VARCHAR,
    runs BIGINT NOT NULL,
    runs_with_findings BIGINT NOT NULL,
    unjudged BIGINT NOT NULL
);

-- At most one row: the view files that the views were last made from, and what
-- DuckDB stored of them, so that views changed by hand are noticed.
CREATE TABLE view_state (
    files_sha256 VARCHAR NOT NULL,
    stored_sha256 VARCHAR NOT NULL
);
