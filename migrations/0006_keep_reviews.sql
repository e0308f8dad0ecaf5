-- Keeps what people say: of findings (reviews) and of what recurs (decisions
-- on candidates for HQ); and tells what the tables for people are for.
-- Old data: nobody has said anything yet.

-- One row per word on a rule in a run: dismissed, confirmed, or undone, which
-- takes back what was said before. The newest counts; rows are only added.
-- tool_name is NULL when it is said of every tool.
CREATE TABLE reviews (
    trace_id VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    tool_name VARCHAR,
    decision VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    reviewed_at VARCHAR NOT NULL,
    reviewed_ns BIGINT NOT NULL
);

-- One row per decision on a tool and rule that recur in several agents:
-- hand_over, fix_here or hold. The newest counts; rows are only added.
CREATE TABLE hq_decisions (
    tool_name VARCHAR NOT NULL,
    rule VARCHAR NOT NULL,
    decision VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    decided_by VARCHAR NOT NULL,
    decided_at VARCHAR NOT NULL,
    decided_ns BIGINT NOT NULL
);

COMMENT ON TABLE spans IS 'Kept spans: final answers and tool calls, a row each';
COMMENT ON COLUMN spans.trace_id IS 'The run';
COMMENT ON COLUMN spans.span_id IS 'The span';
COMMENT ON COLUMN spans.parent_span_id IS 'Nearest kept ancestor; NULL when there is none';
COMMENT ON COLUMN spans.start_time IS 'Start, Korean time, ISO 8601';
COMMENT ON COLUMN spans.operation IS 'invoke_agent or execute_tool';
COMMENT ON COLUMN spans.agent_name IS 'gen_ai.agent.name of an invoke_agent span';
COMMENT ON COLUMN spans.tool_name IS 'gen_ai.tool.name of an execute_tool span';
COMMENT ON COLUMN spans.tool_args IS 'Arguments as recorded; NULL when not recorded';
COMMENT ON COLUMN spans.status IS 'ok or error; UNSET is ok';
COMMENT ON COLUMN spans.duration_ms IS 'Duration, whole milliseconds';
COMMENT ON COLUMN spans.start_ns IS 'Start, nanoseconds since 1970 UTC';
COMMENT ON COLUMN spans.end_ns IS 'End, nanoseconds since 1970 UTC';
COMMENT ON COLUMN spans.duration_ns IS 'Duration, nanoseconds';
COMMENT ON COLUMN spans.args_key IS 'Canonical arguments: keys sorted; NULL when not recorded or not JSON';
COMMENT ON COLUMN spans.args_shape IS 'Keys and types of the arguments (arg_shapes)';
COMMENT ON COLUMN spans.tool_args_raw IS 'Arguments before they were unwrapped; NULL when they were not';
COMMENT ON COLUMN spans.recorded_parent_span_id IS 'parentSpanId as recorded';
COMMENT ON COLUMN spans.parent_lost IS 'Whether the recorded parent is not in the store';
COMMENT ON COLUMN spans.call_id IS 'gen_ai.tool.call.id';
COMMENT ON COLUMN spans.tool_result IS 'Result of the call as recorded';
COMMENT ON COLUMN spans.error_type IS 'error.type';
COMMENT ON COLUMN spans.status_message IS 'Message of the status';
COMMENT ON COLUMN spans.service_name IS 'service.name of the resource';
COMMENT ON COLUMN spans.scope_name IS 'Name of the instrumentation scope';
COMMENT ON COLUMN spans.convention IS 'Convention that recognised the span';
COMMENT ON COLUMN spans.source_id IS 'File it came from (sources)';
COMMENT ON COLUMN spans.line IS 'Line in that file, from 1';
COMMENT ON COLUMN spans.batch_id IS 'Ingest that brought it (batches)';
COMMENT ON COLUMN spans.args_form IS 'How the arguments were recorded, when not as a JSON object';
COMMENT ON COLUMN spans.failure IS 'What beside the status says that the call failed';
COMMENT ON COLUMN spans.args_from_messages IS 'Whether the arguments are those of the message that asks for the call';
COMMENT ON COLUMN spans.asked_args IS 'Arguments in that message, canonical, where they differ';

COMMENT ON TABLE tool_definitions IS 'Tools of each tools.json, a row a tool and tool set';
COMMENT ON COLUMN tool_definitions.tool_name IS 'Name of the tool';
COMMENT ON COLUMN tool_definitions.description IS 'Description that the model reads';
COMMENT ON COLUMN tool_definitions.json_schema IS 'JSON Schema of the arguments, as text';
COMMENT ON COLUMN tool_definitions.timeout_ms IS 'Time limit, milliseconds; NULL when unknown';
COMMENT ON COLUMN tool_definitions.max_retries IS 'Equal calls in a row that are allowed, the first included; NULL when unknown';
COMMENT ON COLUMN tool_definitions.schema_readable IS 'Whether json_schema is a JSON Schema object';
COMMENT ON COLUMN tool_definitions.tool_set IS 'sha256 of the tools.json (tool_sets)';
COMMENT ON COLUMN tool_definitions.position IS 'Place in the tools.json, from 0';

COMMENT ON TABLE ingest_issues IS 'Problems met while reading, a row each';
COMMENT ON COLUMN ingest_issues.batch_id IS 'The ingest (batches)';
COMMENT ON COLUMN ingest_issues.source_id IS 'The file (sources); NULL when it could not be opened';
COMMENT ON COLUMN ingest_issues.source IS 'Path of the file';
COMMENT ON COLUMN ingest_issues.severity IS 'info, warning or data_loss';
COMMENT ON COLUMN ingest_issues.line IS 'Line in the file, from 1; 0 when it is about the file';
COMMENT ON COLUMN ingest_issues.byte_offset IS 'Where in the file, bytes from 0';
COMMENT ON COLUMN ingest_issues.trace_id IS 'The run, when it is known';
COMMENT ON COLUMN ingest_issues.span_id IS 'The span, when it is known';
COMMENT ON COLUMN ingest_issues.code IS 'Stable code of the kind of problem (README)';
COMMENT ON COLUMN ingest_issues.reason IS 'The problem in words';
COMMENT ON COLUMN ingest_issues.raw IS 'The first 200 characters of what was read';

COMMENT ON TABLE reviews IS 'What people said of findings, a row a review';
COMMENT ON COLUMN reviews.trace_id IS 'The run';
COMMENT ON COLUMN reviews.rule IS 'The rule it is about';
COMMENT ON COLUMN reviews.tool_name IS 'The tool it is about; NULL for every tool';
COMMENT ON COLUMN reviews.decision IS 'dismissed, confirmed, or undone';
COMMENT ON COLUMN reviews.reason IS 'Why';
COMMENT ON COLUMN reviews.reviewer IS 'Who';
COMMENT ON COLUMN reviews.reviewed_at IS 'When, Korean time, ISO 8601';
COMMENT ON COLUMN reviews.reviewed_ns IS 'When, nanoseconds since 1970 UTC';

COMMENT ON TABLE hq_decisions IS 'What was decided on candidates for HQ, a row a decision';
COMMENT ON COLUMN hq_decisions.tool_name IS 'The tool';
COMMENT ON COLUMN hq_decisions.rule IS 'The rule';
COMMENT ON COLUMN hq_decisions.decision IS 'hand_over, fix_here or hold';
COMMENT ON COLUMN hq_decisions.reason IS 'Why';
COMMENT ON COLUMN hq_decisions.decided_by IS 'Who';
COMMENT ON COLUMN hq_decisions.decided_at IS 'When, Korean time, ISO 8601';
COMMENT ON COLUMN hq_decisions.decided_ns IS 'When, nanoseconds since 1970 UTC';
