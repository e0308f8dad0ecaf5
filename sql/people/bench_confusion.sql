-- View:    bench_confusion
-- Judges:  nothing; for people who ask in SQL.
-- Grain:   one row per bench, faults put in and verdict given.
-- Reads:   bench_runs, bench_results.
-- Fires when:        a run with these faults was given this verdict.
-- Stays silent when: none was: cells of the table that are 0.
-- Order:   none; ran_ns, faults, given is a useful one.
-- Version: first.
-- Tests:   tests/it/demo_bench.rs
CREATE OR REPLACE VIEW bench_confusion AS
SELECT
    b.bench_run AS bench_run,
    b.ran_at AS ran_at,
    b.seed AS seed,
    b.model AS model,
    b.overlap AS overlap,
    r.faults AS faults,
    r.expected AS expected,
    r.given AS given,
    COUNT(*) AS runs,
    r.expected = r.given AS is_match,
    b.ran_ns AS ran_ns
FROM bench_runs b
JOIN bench_results r ON r.bench_run = b.bench_run
GROUP BY ALL;
COMMENT ON VIEW bench_confusion IS 'Benches of the demo agent: faults put in and verdicts given, a row a cell that is not 0';
COMMENT ON COLUMN bench_confusion.bench_run IS 'The bench (bench_runs)';
COMMENT ON COLUMN bench_confusion.ran_at IS 'When, Korean time, ISO 8601';
COMMENT ON COLUMN bench_confusion.seed IS 'Its seed';
COMMENT ON COLUMN bench_confusion.model IS 'Model that the agent asked';
COMMENT ON COLUMN bench_confusion.overlap IS 'Whether two faults went into each run';
COMMENT ON COLUMN bench_confusion.faults IS 'Switches of the faults, joined with +; empty for runs without one';
COMMENT ON COLUMN bench_confusion.expected IS 'Verdict expected: short name';
COMMENT ON COLUMN bench_confusion.given IS 'Verdict given: short name, or unjudged';
COMMENT ON COLUMN bench_confusion.runs IS 'Runs';
COMMENT ON COLUMN bench_confusion.is_match IS 'Whether it is the verdict expected';
COMMENT ON COLUMN bench_confusion.ran_ns IS 'When, nanoseconds since 1970 UTC';
