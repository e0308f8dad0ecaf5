-- Every column of every table and view, with what it is; in their order.
SELECT
    c.table_name,
    c.column_name,
    c.data_type,
    COALESCE(c.comment, '') AS comment
FROM duckdb_columns() c
WHERE NOT c.internal
    AND c.schema_name = 'main'
    AND c.database_name IN (current_database(), 'temp')
ORDER BY c.table_name, c.column_index;
