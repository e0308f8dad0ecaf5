-- Says of the reasons of a gap what they have become: a limit of all arguments
-- of a tool together is told from the limit of one.
-- Old data: stays as it is.

COMMENT ON COLUMN call_spec_gaps.reason IS 'no_arguments, spec_refused, schema_unreadable, limit_not_held or tool_limit_not_held';
COMMENT ON COLUMN call_spec_gaps.detail IS 'limit_not_held, tool_limit_not_held: the keywords of JSON Schema; else NULL';
