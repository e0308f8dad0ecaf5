-- Keeps what `taco-trace demo bench` put into runs of the demo agent and what
-- was said of them. bench_run names a bench; rows are only added.
-- Old data: no bench was kept.

-- One row per bench that was kept.
CREATE TABLE bench_runs (
    bench_run VARCHAR NOT NULL,
    ran_at VARCHAR NOT NULL,
    ran_ns BIGINT NOT NULL,
    seed BIGINT NOT NULL,
    model VARCHAR NOT NULL,
    overlap BOOLEAN NOT NULL,
    rule_set VARCHAR NOT NULL,
    rule_set_sha256 VARCHAR NOT NULL,
    runs BIGINT NOT NULL,
    controls BIGINT NOT NULL,
    matched BIGINT NOT NULL,
    matched_all BIGINT NOT NULL
);

-- One row per run of a bench, as it was judged then.
CREATE TABLE bench_results (
    bench_run VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    trace_id VARCHAR NOT NULL,
    faults VARCHAR NOT NULL,
    not_reached VARCHAR NOT NULL,
    expected VARCHAR NOT NULL,
    expected_also VARCHAR NOT NULL,
    given VARCHAR NOT NULL,
    also_found VARCHAR NOT NULL,
    why VARCHAR
);

COMMENT ON TABLE bench_runs IS 'Benches of the demo agent that were kept, a row a bench; faults and labels are the authors''';
COMMENT ON COLUMN bench_runs.bench_run IS 'Names the bench';
COMMENT ON COLUMN bench_runs.ran_at IS 'When, Korean time, ISO 8601';
COMMENT ON COLUMN bench_runs.ran_ns IS 'When, nanoseconds since 1970 UTC';
COMMENT ON COLUMN bench_runs.seed IS 'Seed of everything left to chance';
COMMENT ON COLUMN bench_runs.model IS 'Model that the agent asked';
COMMENT ON COLUMN bench_runs.overlap IS 'Whether two faults went into each run';
COMMENT ON COLUMN bench_runs.rule_set IS 'Name of the set of views that judged';
COMMENT ON COLUMN bench_runs.rule_set_sha256 IS 'sha256 of the view files that judged';
COMMENT ON COLUMN bench_runs.runs IS 'Runs with a fault';
COMMENT ON COLUMN bench_runs.controls IS 'Runs without one';
COMMENT ON COLUMN bench_runs.matched IS 'Of the runs with a fault, those with the verdict expected';
COMMENT ON COLUMN bench_runs.matched_all IS 'Of these, those with exactly the further rules expected';

COMMENT ON TABLE bench_results IS 'What was put into runs of a bench and what was said, a row a run';
COMMENT ON COLUMN bench_results.bench_run IS 'The bench (bench_runs)';
COMMENT ON COLUMN bench_results.number IS 'Number of the run, from 1';
COMMENT ON COLUMN bench_results.trace_id IS 'The run';
COMMENT ON COLUMN bench_results.faults IS 'Switches of the faults put in, joined with +; empty for a run without one';
COMMENT ON COLUMN bench_results.not_reached IS 'Those that never came to bear, joined with +';
COMMENT ON COLUMN bench_results.expected IS 'Verdict expected: short name, as --verdict takes it, or unjudged';
COMMENT ON COLUMN bench_results.expected_also IS 'Further verdicts expected, joined with +';
COMMENT ON COLUMN bench_results.given IS 'Verdict given: short name, or unjudged';
COMMENT ON COLUMN bench_results.also_found IS 'Further verdicts given, joined with +';
COMMENT ON COLUMN bench_results.why IS 'Why they part, as the report has it; NULL when they do not';
