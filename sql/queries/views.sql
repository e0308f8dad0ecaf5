-- The views of the store and their text as DuckDB keeps it, in order of name.
SELECT view_name, sql
FROM duckdb_views()
WHERE NOT internal
ORDER BY view_name;
