-- The findings in scope, in order of run and place.
SELECT f.trace_id, f.rule, f.tool_name, f.span_ids, f.missing_keys,
    f.type_errors, f.measured, f.allowed, f.fix_target, f.review
FROM findings f
ORDER BY f.start_ns, f.trace_id, f.place;
