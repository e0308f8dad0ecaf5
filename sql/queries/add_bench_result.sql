-- Adds a run of a bench.
-- Parameters: the columns in order.
INSERT INTO bench_results (
    bench_run, number, trace_id, faults, not_reached,
    expected, expected_also, given, also_found, why
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
