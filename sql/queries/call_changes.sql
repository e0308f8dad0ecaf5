-- How the calls of two checks differ: a row a call that deviates in either,
-- can be judged in one of them only, or is in one of them only. A call is
-- known by its call_no. Its reasons are the verdicts that are not compliant,
-- in the order of the output, or else what it is. Parameters: the earlier
-- check, the later.
CREATE TEMP TABLE call_changes AS
-- What is said of each call of either check.
WITH said AS (
    SELECT
        c.call_run AS call_run,
        c.call_no AS call_no,
        MIN(c.place) AS place,
        COALESCE(
            STRING_AGG(c.verdict, ',' ORDER BY c.rank)
                FILTER (WHERE c.rank BETWEEN 2 AND 6),
            MIN(c.verdict)
        ) AS reasons,
        BOOL_OR(c.rank BETWEEN 2 AND 6) AS deviates,
        BOOL_OR(c.rank = 7) AS unjudged
    FROM call_results c
    WHERE c.call_run IN ($before, $after)
    GROUP BY c.call_run, c.call_no
),
before AS (
    SELECT s.call_no, s.place, s.reasons, s.deviates, s.unjudged
    FROM said s
    WHERE s.call_run = $before
),
after AS (
    SELECT s.call_no, s.place, s.reasons, s.deviates, s.unjudged
    FROM said s
    WHERE s.call_run = $after
)
SELECT
    CASE
        WHEN b.call_no IS NULL THEN 'new'
        WHEN a.call_no IS NULL THEN 'gone'
        WHEN a.deviates AND NOT b.deviates THEN 'newly_deviating'
        WHEN a.deviates THEN 'still_deviating'
        -- What nobody looked at is not mended.
        WHEN a.unjudged THEN 'newly_unjudged'
        WHEN b.deviates THEN 'repaired'
        ELSE 'judged_again'
    END AS change,
    COALESCE(a.call_no, b.call_no) AS call_no,
    b.reasons AS before,
    a.reasons AS after,
    COALESCE(a.place, b.place) AS place
FROM before b
FULL JOIN after a ON a.call_no = b.call_no
WHERE b.call_no IS NULL
    OR a.call_no IS NULL
    OR a.deviates
    OR b.deviates
    OR a.unjudged <> b.unjudged;
