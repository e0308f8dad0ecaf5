-- Adds a bench that is kept.
-- Parameters: the columns in order.
INSERT INTO bench_runs (
    bench_run, ran_at, ran_ns, seed, model, overlap,
    rule_set, rule_set_sha256, runs, controls, matched, matched_all
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
