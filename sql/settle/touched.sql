-- Traces that the file just read has to do with, also when all that it has of
-- them was read before. Of traces that have no kept span nothing is settled.
-- Parameter: source_id of the file.
CREATE OR REPLACE TEMP TABLE touched AS
SELECT s.trace_id AS trace_id FROM spans s WHERE s.source_id = $source_id
UNION
SELECT l.trace_id AS trace_id FROM span_links l
WHERE l.source_id = $source_id AND EXISTS (
    SELECT 1 FROM traces t WHERE t.trace_id = l.trace_id
);
