-- Keeps what the specifications of a check do not say although they know the
-- tool, so that the check can be judged again from the store.
-- Old data: checks kept before have no gaps; what they said stays as it is.

-- One row per tool, argument and reason.
CREATE TABLE call_spec_gaps (
    call_run VARCHAR NOT NULL,
    tool_id VARCHAR NOT NULL,
    arg_name VARCHAR,
    reason VARCHAR NOT NULL,
    detail VARCHAR,
    tool_key VARCHAR NOT NULL,
    input BIGINT NOT NULL
);

COMMENT ON TABLE call_spec_gaps IS 'What specifications leave open about a tool they know';
COMMENT ON COLUMN call_spec_gaps.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN call_spec_gaps.tool_id IS 'Name of the tool as given';
COMMENT ON COLUMN call_spec_gaps.arg_name IS 'Name of the argument; NULL when it is about the tool';
COMMENT ON COLUMN call_spec_gaps.reason IS 'no_arguments, spec_refused, schema_unreadable or limit_not_held';
COMMENT ON COLUMN call_spec_gaps.detail IS 'limit_not_held: the keywords of JSON Schema; else NULL';
COMMENT ON COLUMN call_spec_gaps.tool_key IS 'tool_id in lower case, letters, marks and digits alone';
COMMENT ON COLUMN call_spec_gaps.input IS 'The input (call_inputs)';
