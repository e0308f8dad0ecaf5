-- View:    base_call_arg_v1
-- Judges:  nothing; the top-level keys of the arguments of each call.
-- Grain:   one row per call and key.
-- Reads:   base_call_v1, arg_shapes.
-- Fires when:        the arguments are a JSON object with that key.
-- Stays silent when: arguments are not recorded, not JSON, or no object.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW base_call_arg_v1 AS
SELECT
    c.trace_id AS trace_id,
    c.span_id AS span_id,
    a.key AS key,
    a.json_type AS json_type,
    a.written_type AS written_type
FROM base_call_v1 c
JOIN arg_shapes a ON a.args_shape = c.args_shape;
COMMENT ON VIEW base_call_arg_v1 IS 'Top-level keys of the arguments of tool calls';
COMMENT ON COLUMN base_call_arg_v1.trace_id IS 'The run';
COMMENT ON COLUMN base_call_arg_v1.span_id IS 'The call';
COMMENT ON COLUMN base_call_arg_v1.key IS 'The key';
COMMENT ON COLUMN base_call_arg_v1.json_type IS 'JSON Schema type of its value; 3 and 3.0 are integer';
COMMENT ON COLUMN base_call_arg_v1.written_type IS 'Type as written; 3 is integer, 3.0 is number';
