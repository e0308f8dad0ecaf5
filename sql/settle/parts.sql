-- How many spans the traces have whose parents are not settled yet, kept or
-- not, and room for the cycles that are found.
CREATE OR REPLACE TEMP TABLE settle_size AS
SELECT CAST(
    (SELECT COUNT(*) FROM spans s
        JOIN unsettled t ON t.trace_id = s.trace_id
        WHERE NOT t.parents)
    + (SELECT COUNT(*) FROM span_links l
        JOIN unsettled t ON t.trace_id = l.trace_id
        WHERE NOT t.parents)
    AS UBIGINT) AS settled_rows;
CREATE OR REPLACE TEMP TABLE parent_cycles (trace_id VARCHAR);
