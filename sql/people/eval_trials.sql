-- View:    eval_trials
-- Judges:  nothing; for people who ask in SQL.
-- Grain:   one row per planned trial of an experiment: its last attempt.
-- Reads:   eval_experiments, eval_experiment_cases, eval_trial_starts,
--          eval_trial_ends, eval_trial_traces, eval_reviews.
-- Fires when:        an experiment plans the trial, made or not.
-- Stays silent when: it is an earlier attempt at a trial.
-- Order:   none; started_ns, case_id, trial is a useful one.
-- Version: first.
-- Tests:   tests/it/eval_report.rs
CREATE OR REPLACE VIEW eval_trials AS
-- What is to be tried: each case as often as the experiment says.
WITH planned AS (
    SELECT
        c.experiment_id AS experiment_id,
        c.case_id AS case_id,
        c.case_sha256 AS case_sha256,
        UNNEST(RANGE(1, e.trials + 1)) AS trial
    FROM eval_experiment_cases c
    JOIN eval_experiments e ON e.experiment_id = c.experiment_id
),
-- The last attempt at each trial.
attempts AS (
    SELECT
        s.trial_id AS trial_id,
        s.experiment_id AS experiment_id,
        s.case_id AS case_id,
        s.trial AS trial,
        s.attempt AS attempt,
        s.started_at AS started_at,
        s.started_ns AS started_ns,
        ROW_NUMBER() OVER (
            PARTITION BY s.experiment_id, s.case_id, s.trial
            ORDER BY s.attempt DESC, s.started_ns DESC, s.trial_id DESC
        ) AS from_last
    FROM eval_trial_starts s
),
-- The traces of each trial, by turn.
traces AS (
    SELECT
        t.trial_id AS trial_id,
        LIST(t.trace_id ORDER BY t.turn, t.trace_id) AS trace_ids
    FROM eval_trial_traces t
    GROUP BY t.trial_id
),
-- What was said of each trial last.
said AS (
    SELECT
        r.trial_id AS trial_id,
        r.opinion AS opinion,
        r.note AS note,
        r.reviewer AS reviewer,
        r.reviewed_at AS reviewed_at,
        ROW_NUMBER() OVER (
            PARTITION BY r.trial_id
            ORDER BY r.reviewed_ns DESC, r.reviewed_at DESC, r.opinion DESC
        ) AS from_last
    FROM eval_reviews r
)
SELECT
    e.experiment_id AS experiment_id,
    e.project_id AS project_id,
    e.role AS role,
    e.target AS target,
    e.target_kind AS target_kind,
    e.config_sha256 AS config_sha256,
    p.case_id AS case_id,
    p.case_sha256 AS case_sha256,
    p.trial AS trial,
    a.attempt AS attempt,
    a.trial_id AS trial_id,
    CASE
        WHEN a.trial_id IS NULL THEN 'not_run'
        WHEN d.trial_id IS NULL THEN 'unfinished'
        ELSE 'finished'
    END AS state,
    d.verdict AS verdict,
    d.target_name AS target_name,
    d.target_version AS target_version,
    a.started_at AS started_at,
    d.duration_ms AS duration_ms,
    d.input_tokens AS input_tokens,
    d.output_tokens AS output_tokens,
    d.cost_usd AS cost_usd,
    COALESCE(t.trace_ids, []) AS trace_ids,
    s.opinion AS review,
    s.note AS review_note,
    s.reviewer AS reviewer,
    s.reviewed_at AS reviewed_at,
    a.started_ns AS started_ns
FROM planned p
JOIN eval_experiments e ON e.experiment_id = p.experiment_id
LEFT JOIN attempts a
    ON a.experiment_id = p.experiment_id
    AND a.case_id = p.case_id
    AND a.trial = p.trial
    AND a.from_last = 1
LEFT JOIN eval_trial_ends d ON d.trial_id = a.trial_id
LEFT JOIN traces t ON t.trial_id = a.trial_id
LEFT JOIN said s ON s.trial_id = a.trial_id AND s.from_last = 1;
COMMENT ON VIEW eval_trials IS 'Planned trials of evaluations, a row each, with what the last attempt came to';
COMMENT ON COLUMN eval_trials.experiment_id IS 'The experiment (eval_experiments)';
COMMENT ON COLUMN eval_trials.project_id IS 'Its project (eval_projects)';
COMMENT ON COLUMN eval_trials.role IS 'baseline or candidate';
COMMENT ON COLUMN eval_trials.target IS 'Name of the target in the project file';
COMMENT ON COLUMN eval_trials.target_kind IS 'reference, http, answer_only or script';
COMMENT ON COLUMN eval_trials.config_sha256 IS 'The configuration that the gate asks for';
COMMENT ON COLUMN eval_trials.case_id IS 'Id of the case';
COMMENT ON COLUMN eval_trials.case_sha256 IS 'The frozen version of the case (eval_cases)';
COMMENT ON COLUMN eval_trials.trial IS 'Which trial of the case, from 1';
COMMENT ON COLUMN eval_trials.attempt IS 'Which attempt at it, from 1; NULL when none was made';
COMMENT ON COLUMN eval_trials.trial_id IS 'The last attempt (eval_trial_starts); NULL when none was made';
COMMENT ON COLUMN eval_trials.state IS 'finished, unfinished (goes on, or was interrupted) or not_run';
COMMENT ON COLUMN eval_trials.verdict IS 'PASS, FAIL, ERROR, UNKNOWN, CANCELLED or NOT_APPLICABLE; NULL unless finished';
COMMENT ON COLUMN eval_trials.target_name IS 'Name that the target gave of itself';
COMMENT ON COLUMN eval_trials.target_version IS 'Version that the target gave of itself';
COMMENT ON COLUMN eval_trials.started_at IS 'When it began, Korean time, ISO 8601';
COMMENT ON COLUMN eval_trials.duration_ms IS 'How long it took, milliseconds';
COMMENT ON COLUMN eval_trials.input_tokens IS 'Tokens that went into models';
COMMENT ON COLUMN eval_trials.output_tokens IS 'Tokens that came out of models';
COMMENT ON COLUMN eval_trials.cost_usd IS 'What that cost, US dollars; NULL when no price is known';
COMMENT ON COLUMN eval_trials.trace_ids IS 'Traces that it was written as, by turn';
COMMENT ON COLUMN eval_trials.review IS 'What a person said of it last: agree, disagree or doubt';
COMMENT ON COLUMN eval_trials.review_note IS 'Why';
COMMENT ON COLUMN eval_trials.reviewer IS 'Who';
COMMENT ON COLUMN eval_trials.reviewed_at IS 'When, Korean time, ISO 8601';
COMMENT ON COLUMN eval_trials.started_ns IS 'When it began, nanoseconds since 1970 UTC';
