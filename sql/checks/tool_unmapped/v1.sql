-- View:    check_tool_unmapped_v1
-- Judges:  a tool was called that no specification has.
-- Grain:   one row per checked call of such a tool.
-- Reads:   checked_calls, call_specs, call_spec_gaps.
-- Fires when:        the normalised tool name is no normalised tool_id.
-- Stays silent when: it is one, be it of a tool without arguments or of a row
--                    that could not be read; whatever else is wrong with the
--                    call is for other checks then.
-- Order:   none; place is the order of loading.
-- Version: first.
-- Tests:   tests/it/calls.rs
CREATE OR REPLACE VIEW check_tool_unmapped_v1 AS
SELECT
    c.call_run AS call_run,
    c.place AS place,
    c.call_no AS call_no,
    CAST(NULL AS VARCHAR) AS checked_arg,
    c.tool_name_raw AS tool_name_raw
FROM checked_calls c
WHERE NOT EXISTS (
    SELECT 1 FROM call_specs s
    WHERE s.call_run = c.call_run
        AND s.tool_key = c.tool_key
)
    AND NOT EXISTS (
        SELECT 1 FROM call_spec_gaps g
        WHERE g.call_run = c.call_run
            AND g.tool_key = c.tool_key
    );
COMMENT ON VIEW check_tool_unmapped_v1 IS 'Calls of tools that no specification has';
COMMENT ON COLUMN check_tool_unmapped_v1.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN check_tool_unmapped_v1.place IS 'The call (checked_calls)';
COMMENT ON COLUMN check_tool_unmapped_v1.call_no IS 'Number of the call';
COMMENT ON COLUMN check_tool_unmapped_v1.checked_arg IS 'NULL: no argument is checked';
COMMENT ON COLUMN check_tool_unmapped_v1.tool_name_raw IS 'Name of the tool as given';
