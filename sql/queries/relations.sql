-- Every table and view that can be asked, with what it is; by name.
SELECT r.name, r.is_view, r.comment
FROM (
    SELECT
        t.table_name AS name,
        false AS is_view,
        COALESCE(t.comment, '') AS comment,
        t.database_name AS database_name,
        t.schema_name AS schema_name
    FROM duckdb_tables() t
    WHERE NOT t.internal
    UNION ALL
    SELECT
        v.view_name AS name,
        true AS is_view,
        COALESCE(v.comment, '') AS comment,
        v.database_name AS database_name,
        v.schema_name AS schema_name
    FROM duckdb_views() v
    WHERE NOT v.internal
) r
WHERE r.schema_name = 'main'
    AND r.database_name IN (current_database(), 'temp')
ORDER BY r.name, r.is_view;
