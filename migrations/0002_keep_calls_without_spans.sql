-- Keeps what a span of its own does not say: calls that stand in the messages
-- of a model only, spans of one call that were merged, how arguments were
-- recorded, and what beside the status says that a call failed.
-- Old data: spans read before have no such facts; reading a file anew under
-- another store adds them.

ALTER TABLE spans ADD COLUMN args_form VARCHAR;
ALTER TABLE spans ADD COLUMN failure VARCHAR;
-- Whether the arguments are those of the message that asks for the call.
ALTER TABLE spans ADD COLUMN args_from_messages BOOLEAN DEFAULT FALSE;
-- The arguments in that message, canonical, where those of the span differ.
ALTER TABLE spans ADD COLUMN asked_args VARCHAR;

-- One row per call in the messages of a model of which no span has the id.
-- call_key names it: the span it stands in and its place there. alone
-- says that it has no span of its own and repeats no other row.
CREATE TABLE chat_calls (
    trace_id VARCHAR NOT NULL,
    call_key VARCHAR NOT NULL,
    span_id VARCHAR NOT NULL,
    start_ns BIGINT NOT NULL,
    tool_name VARCHAR NOT NULL,
    tool_args VARCHAR,
    tool_args_raw VARCHAR,
    args_form VARCHAR,
    args_key VARCHAR,
    args_shape VARCHAR,
    call_id VARCHAR,
    alone BOOLEAN NOT NULL,
    status VARCHAR,
    failure VARCHAR,
    convention VARCHAR NOT NULL,
    source_id BIGINT NOT NULL,
    line BIGINT NOT NULL,
    batch_id BIGINT NOT NULL
);

-- One row per call that the messages say failed.
CREATE TABLE chat_failures (
    trace_id VARCHAR NOT NULL,
    call_id VARCHAR NOT NULL,
    failure VARCHAR NOT NULL,
    source_id BIGINT NOT NULL
);

-- The spans that are the same call as a span around them, as they were, and
-- what the outer span took from them.
CREATE TABLE merged_spans AS SELECT * FROM spans LIMIT 0;
ALTER TABLE merged_spans ADD COLUMN outer_span_id VARCHAR;
ALTER TABLE merged_spans ADD COLUMN gave_args BOOLEAN;
ALTER TABLE merged_spans ADD COLUMN gave_result BOOLEAN;
ALTER TABLE merged_spans ADD COLUMN gave_error_type BOOLEAN;
ALTER TABLE merged_spans ADD COLUMN gave_failure BOOLEAN;

ALTER TABLE sources ADD COLUMN spans_merged BIGINT DEFAULT 0;
