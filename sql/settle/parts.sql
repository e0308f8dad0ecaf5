-- How many spans the traces have whose parents are not settled yet, kept or
-- not, and room for the cycles that are found.
-- Parameter: source_id of the first file that has rows of them.
CREATE OR REPLACE TEMP TABLE settle_size AS
SELECT CAST(
    (SELECT COUNT(*) FROM spans s
        JOIN unsettled t ON t.trace_id = s.trace_id
        WHERE NOT t.parents AND s.source_id >= $first_source_id)
    + (SELECT COUNT(*) FROM span_links l
        JOIN unsettled t ON t.trace_id = l.trace_id
        WHERE NOT t.parents AND l.source_id >= $first_source_id)
    AS UBIGINT) AS settled_rows;
CREATE OR REPLACE TEMP TABLE parent_cycles (trace_id VARCHAR);
