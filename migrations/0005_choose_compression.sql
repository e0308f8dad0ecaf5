-- Chooses how the columns of the two largest tables are compressed: names and
-- ids that many rows share as a dictionary, which is quick to look through and
-- to write; texts, and ids that no other row has, as zstd, which the program
-- chooses where nothing is said.
-- Old data: rows are copied, once, a second or two for each GB that was read.

ALTER TABLE spans RENAME TO spans_before;
CREATE OR REPLACE TABLE spans (
    trace_id VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    span_id VARCHAR NOT NULL,
    parent_span_id VARCHAR USING COMPRESSION dict_fsst,
    start_time VARCHAR NOT NULL,
    operation VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    agent_name VARCHAR USING COMPRESSION dict_fsst,
    tool_name VARCHAR USING COMPRESSION dict_fsst,
    tool_args VARCHAR,
    status VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    duration_ms BIGINT NOT NULL,
    start_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    duration_ns BIGINT NOT NULL,
    args_key VARCHAR,
    args_shape VARCHAR USING COMPRESSION dict_fsst,
    tool_args_raw VARCHAR,
    recorded_parent_span_id VARCHAR USING COMPRESSION dict_fsst,
    parent_lost BOOLEAN NOT NULL,
    call_id VARCHAR,
    tool_result VARCHAR,
    error_type VARCHAR USING COMPRESSION dict_fsst,
    status_message VARCHAR,
    service_name VARCHAR USING COMPRESSION dict_fsst,
    scope_name VARCHAR USING COMPRESSION dict_fsst,
    convention VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    source_id BIGINT NOT NULL,
    line BIGINT NOT NULL,
    batch_id BIGINT NOT NULL,
    args_form VARCHAR USING COMPRESSION dict_fsst,
    failure VARCHAR USING COMPRESSION dict_fsst,
    args_from_messages BOOLEAN DEFAULT FALSE,
    asked_args VARCHAR
);
INSERT INTO spans SELECT * FROM spans_before;
DROP TABLE spans_before;

ALTER TABLE span_links RENAME TO span_links_before;
CREATE OR REPLACE TABLE span_links (
    trace_id VARCHAR NOT NULL USING COMPRESSION dict_fsst,
    span_id VARCHAR NOT NULL,
    parent_span_id VARCHAR USING COMPRESSION dict_fsst,
    source_id BIGINT NOT NULL
);
INSERT INTO span_links SELECT * FROM span_links_before;
DROP TABLE span_links_before;
