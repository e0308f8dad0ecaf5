-- What is merged is not kept: the counts of the files whose spans were merged,
-- or are no longer. The file just read counts all its spans as kept so far.
CREATE OR REPLACE TEMP TABLE merged_counts AS
SELECT m.source_id AS source_id, COUNT(*) AS merged
FROM merged_spans m
GROUP BY m.source_id;
UPDATE sources
SET spans_kept = sources.spans_kept + sources.spans_merged
        - COALESCE((SELECT c.merged FROM merged_counts c
            WHERE c.source_id = sources.source_id), 0),
    spans_merged = COALESCE((SELECT c.merged FROM merged_counts c
        WHERE c.source_id = sources.source_id), 0)
WHERE sources.spans_merged <> COALESCE((SELECT c.merged FROM merged_counts c
    WHERE c.source_id = sources.source_id), 0);
