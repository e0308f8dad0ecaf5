-- The checks that were kept, the first first, with how often each verdict
-- stands in each.
SELECT r.call_run, r.checked_at, r.calls, r.specs, r.left_out, r.unjudged,
    r.issues,
    COALESCE(v.compliant, 0), COALESCE(v.value_not_allowed, 0),
    COALESCE(v.number_over_limit, 0), COALESCE(v.required_arg_missing, 0),
    COALESCE(v.tool_unmapped, 0), COALESCE(v.duplicate_call, 0)
FROM call_runs r
LEFT JOIN (
    SELECT c.call_run,
        COUNT(*) FILTER (WHERE c.rank = 1) AS compliant,
        COUNT(*) FILTER (WHERE c.rank = 2) AS value_not_allowed,
        COUNT(*) FILTER (WHERE c.rank = 3) AS number_over_limit,
        COUNT(*) FILTER (WHERE c.rank = 4) AS required_arg_missing,
        COUNT(*) FILTER (WHERE c.rank = 5) AS tool_unmapped,
        COUNT(*) FILTER (WHERE c.rank = 6) AS duplicate_call
    FROM call_results c
    GROUP BY c.call_run
) v ON v.call_run = r.call_run
ORDER BY r.checked_ns, r.call_run;
