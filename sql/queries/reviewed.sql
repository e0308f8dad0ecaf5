-- Findings of the runs in scope of which a person said something, and what was
-- said last.
SELECT f.trace_id, f.place, f.review
FROM findings f
WHERE f.review IS NOT NULL
ORDER BY f.trace_id, f.place;
