-- How many calls changed, by change, and under each reason: a call with two
-- reasons counts under both. The empty reason is the sum of calls. A call that
-- is repaired, gone or no longer judged counts under what it was, the others
-- under what they are.
SELECT c.change, '' AS reason, COUNT(*)
FROM call_changes c
GROUP BY c.change
UNION ALL
SELECT r.change, r.reason, COUNT(*)
FROM (
    SELECT
        c.change AS change,
        UNNEST(STRING_SPLIT(
            CASE WHEN c.change IN ('repaired', 'gone', 'newly_unjudged')
                THEN c.before ELSE c.after END, ','
        )) AS reason
    FROM call_changes c
) r
GROUP BY r.change, r.reason
ORDER BY 1, 2;
