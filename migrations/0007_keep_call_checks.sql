-- Keeps what `taco-trace calls check` was given and what it said, so that two
-- checks can be compared. call_run names a check; rows are only added.
-- Old data: no check was kept.

-- One row per check that was kept.
CREATE TABLE call_runs (
    call_run VARCHAR NOT NULL,
    checked_at VARCHAR NOT NULL,
    checked_ns BIGINT NOT NULL,
    call_set VARCHAR NOT NULL,
    call_set_sha256 VARCHAR NOT NULL,
    calls BIGINT NOT NULL,
    specs BIGINT NOT NULL,
    left_out BIGINT NOT NULL,
    unjudged BIGINT NOT NULL,
    issues BIGINT NOT NULL
);

-- One row per input of a check; number is what its rows name it by.
CREATE TABLE call_inputs (
    call_run VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    role VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    sha256 VARCHAR NOT NULL
);

-- One row per call that is judged: the first of its call_no.
CREATE TABLE checked_calls (
    call_run VARCHAR NOT NULL,
    place BIGINT NOT NULL,
    call_no VARCHAR NOT NULL,
    tool_name_raw VARCHAR NOT NULL,
    arg_name VARCHAR,
    arg_value VARCHAR,
    tool_key VARCHAR NOT NULL,
    input BIGINT NOT NULL,
    row_number BIGINT NOT NULL,
    line BIGINT NOT NULL
);

-- One row per call that was left out at load, and why.
CREATE TABLE left_out_calls (
    call_run VARCHAR NOT NULL,
    place BIGINT NOT NULL,
    call_no VARCHAR NOT NULL,
    tool_name_raw VARCHAR NOT NULL,
    arg_name VARCHAR,
    arg_value VARCHAR,
    tool_key VARCHAR NOT NULL,
    input BIGINT NOT NULL,
    row_number BIGINT NOT NULL,
    line BIGINT NOT NULL,
    reason VARCHAR NOT NULL
);

-- One row per argument that a tool's specification lists.
CREATE TABLE call_specs (
    call_run VARCHAR NOT NULL,
    place BIGINT NOT NULL,
    tool_id VARCHAR NOT NULL,
    arg_name VARCHAR NOT NULL,
    allowed_values VARCHAR,
    max_number VARCHAR,
    is_required BOOLEAN NOT NULL,
    tool_key VARCHAR NOT NULL,
    input BIGINT NOT NULL,
    row_number BIGINT NOT NULL,
    line BIGINT NOT NULL
);

-- One row per thing said, in the order of the output, and one per call that
-- could not be judged (rank 7).
CREATE TABLE call_results (
    call_run VARCHAR NOT NULL,
    entry BIGINT NOT NULL,
    rank BIGINT NOT NULL,
    verdict VARCHAR NOT NULL,
    place BIGINT NOT NULL,
    call_no VARCHAR NOT NULL,
    checked_arg VARCHAR
);

-- One row per problem met while reading the inputs.
CREATE TABLE call_issues (
    call_run VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    line BIGINT NOT NULL,
    byte_offset BIGINT NOT NULL,
    severity VARCHAR NOT NULL,
    code VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    raw VARCHAR NOT NULL
);

COMMENT ON TABLE call_runs IS 'Checks of calls that were kept, a row a check';
COMMENT ON COLUMN call_runs.call_run IS 'Names the check';
COMMENT ON COLUMN call_runs.checked_at IS 'When, Korean time, ISO 8601';
COMMENT ON COLUMN call_runs.checked_ns IS 'When, nanoseconds since 1970 UTC';
COMMENT ON COLUMN call_runs.call_set IS 'Name of the set of views that judged';
COMMENT ON COLUMN call_runs.call_set_sha256 IS 'sha256 of the view files that judged';
COMMENT ON COLUMN call_runs.calls IS 'Calls that were judged or could not be judged';
COMMENT ON COLUMN call_runs.specs IS 'Arguments that the specifications list';
COMMENT ON COLUMN call_runs.left_out IS 'Calls that were left out at load';
COMMENT ON COLUMN call_runs.unjudged IS 'Calls whose argument no specification lists';
COMMENT ON COLUMN call_runs.issues IS 'Problems met while reading';

COMMENT ON TABLE call_inputs IS 'What checks of calls were given, a row an input';
COMMENT ON COLUMN call_inputs.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN call_inputs.number IS 'What the rows of the check name it by';
COMMENT ON COLUMN call_inputs.role IS 'calls or specs';
COMMENT ON COLUMN call_inputs.path IS 'Path as given; spans or tools when it came from the store';
COMMENT ON COLUMN call_inputs.sha256 IS 'sha256 of its bytes; of a tool set its version';

COMMENT ON TABLE checked_calls IS 'Calls that were checked, a row a call_no';
COMMENT ON COLUMN checked_calls.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN checked_calls.place IS 'Order of loading, from 1, calls left out counted';
COMMENT ON COLUMN checked_calls.call_no IS 'Number of the call as given';
COMMENT ON COLUMN checked_calls.tool_name_raw IS 'Name of the tool as given';
COMMENT ON COLUMN checked_calls.arg_name IS 'Name of the argument; NULL when the call has none';
COMMENT ON COLUMN checked_calls.arg_value IS 'Value of the argument as text; NULL when absent';
COMMENT ON COLUMN checked_calls.tool_key IS 'The tool name in lower case, letters, marks and digits alone';
COMMENT ON COLUMN checked_calls.input IS 'The input (call_inputs)';
COMMENT ON COLUMN checked_calls.row_number IS 'Row of the input, from 1, a header not counted';
COMMENT ON COLUMN checked_calls.line IS 'Line of the input, from 1';

COMMENT ON TABLE left_out_calls IS 'Calls left out at load, a row a call';
COMMENT ON COLUMN left_out_calls.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN left_out_calls.place IS 'Order of loading, from 1';
COMMENT ON COLUMN left_out_calls.call_no IS 'Number of the call as given';
COMMENT ON COLUMN left_out_calls.tool_name_raw IS 'Name of the tool as given';
COMMENT ON COLUMN left_out_calls.arg_name IS 'Name of the argument; NULL when the call has none';
COMMENT ON COLUMN left_out_calls.arg_value IS 'Value of the argument as text; NULL when absent';
COMMENT ON COLUMN left_out_calls.tool_key IS 'The tool name in lower case, letters, marks and digits alone';
COMMENT ON COLUMN left_out_calls.input IS 'The input (call_inputs)';
COMMENT ON COLUMN left_out_calls.row_number IS 'Row of the input, from 1, a header not counted';
COMMENT ON COLUMN left_out_calls.line IS 'Line of the input, from 1';
COMMENT ON COLUMN left_out_calls.reason IS 'Code of the issue (README)';

COMMENT ON TABLE call_specs IS 'What calls were checked against, a row an argument';
COMMENT ON COLUMN call_specs.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN call_specs.place IS 'Order of loading, from 1';
COMMENT ON COLUMN call_specs.tool_id IS 'Name of the tool as given';
COMMENT ON COLUMN call_specs.arg_name IS 'Name of the argument';
COMMENT ON COLUMN call_specs.allowed_values IS 'Allowed values between bars; NULL when any is';
COMMENT ON COLUMN call_specs.max_number IS 'Upper limit as a plain decimal number of any length; NULL when none';
COMMENT ON COLUMN call_specs.is_required IS 'Whether the argument has to be there';
COMMENT ON COLUMN call_specs.tool_key IS 'tool_id in lower case, letters, marks and digits alone';
COMMENT ON COLUMN call_specs.input IS 'The input (call_inputs)';
COMMENT ON COLUMN call_specs.row_number IS 'Row of the input, from 1, a header not counted';
COMMENT ON COLUMN call_specs.line IS 'Line of the input, from 1';

COMMENT ON TABLE call_results IS 'What checks of calls said, a row a verdict';
COMMENT ON COLUMN call_results.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN call_results.entry IS 'Order of the output, from 1; calls without a verdict come last';
COMMENT ON COLUMN call_results.rank IS 'Order of the verdict, from 1; 7 when there is none';
COMMENT ON COLUMN call_results.verdict IS 'The verdict (schemas/call_verdict.schema.json), or unjudged';
COMMENT ON COLUMN call_results.place IS 'The call (checked_calls, left_out_calls)';
COMMENT ON COLUMN call_results.call_no IS 'Number of the call';
COMMENT ON COLUMN call_results.checked_arg IS 'The argument; NULL when none was checked';

COMMENT ON TABLE call_issues IS 'Problems met while reading calls and specifications, a row each';
COMMENT ON COLUMN call_issues.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN call_issues.path IS 'Path of the input';
COMMENT ON COLUMN call_issues.line IS 'Line, from 1; 0 when it is about the input';
COMMENT ON COLUMN call_issues.byte_offset IS 'Where in the input, bytes from 0';
COMMENT ON COLUMN call_issues.severity IS 'info, warning or data_loss';
COMMENT ON COLUMN call_issues.code IS 'Stable code of the kind of problem (README)';
COMMENT ON COLUMN call_issues.reason IS 'The problem in words';
COMMENT ON COLUMN call_issues.raw IS 'The first 200 characters of what was read';
