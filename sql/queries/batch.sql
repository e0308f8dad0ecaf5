-- What one run of ingest came to, as the store has it. Parameter: its number.
SELECT
    COUNT(DISTINCT s.path),
    CAST(COALESCE(SUM(s.lines), 0) AS BIGINT),
    CAST(COALESCE(SUM(s.lines_skipped), 0) AS BIGINT),
    CAST(COALESCE(SUM(s.spans_seen), 0) AS BIGINT),
    CAST(COALESCE(SUM(s.spans_kept), 0) AS BIGINT),
    CAST(COALESCE(SUM(s.spans_merged), 0) AS BIGINT),
    CAST(COALESCE(SUM(s.spans_redelivered), 0) AS BIGINT),
    CAST(COALESCE(SUM(s.spans_skipped), 0) AS BIGINT),
    (SELECT COUNT(DISTINCT x.trace_id) FROM spans x WHERE x.batch_id = $1),
    (SELECT COUNT(*) FROM ingest_issues i WHERE i.batch_id = $1)
FROM sources s
WHERE s.batch_id = $1;
