-- Traces that the file just read has to do with, of those that arrived with
-- it, also when all that it has of them was read before. Of traces without a
-- kept span nothing is settled.
-- Parameter: source_id of the file.
--
-- Of these something came with an earlier file.
CREATE OR REPLACE TEMP TABLE known AS
SELECT a.trace_id AS trace_id, a.kept AS kept
FROM arrived a
WHERE a.trace_id IN (SELECT t.trace_id FROM traces t)
    OR a.trace_id IN (
        SELECT l.trace_id FROM span_links l WHERE l.source_id < $source_id
    )
    OR a.trace_id IN (
        SELECT c.trace_id FROM chat_calls c WHERE c.source_id < $source_id
    );
CREATE OR REPLACE TEMP TABLE touched AS
SELECT a.trace_id AS trace_id
FROM arrived a
WHERE a.kept OR a.trace_id IN (SELECT t.trace_id FROM traces t);
-- These are settled anew by the statements; more come that are not plain. Of
-- some the parents are settled already.
CREATE OR REPLACE TEMP TABLE unsettled AS
SELECT k.trace_id AS trace_id, FALSE AS parents
FROM known k
JOIN touched t ON t.trace_id = k.trace_id;
