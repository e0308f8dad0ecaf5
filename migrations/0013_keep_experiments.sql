-- Keeps projects, experiments, their trials, decisions, reviews and tokens of
-- evaluations. Rows are only added, none changes: a trial that began without
-- a row in eval_trial_ends goes on or was interrupted.
-- Old data: no experiment was made yet.

-- One row per project, as its file named it first.
CREATE TABLE eval_projects (
    project_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    created_at VARCHAR NOT NULL
);

-- One row per experiment.
CREATE TABLE eval_experiments (
    experiment_id VARCHAR NOT NULL,
    project_id VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    target VARCHAR NOT NULL,
    target_kind VARCHAR NOT NULL,
    config_sha256 VARCHAR NOT NULL,
    config VARCHAR NOT NULL,
    allow_private_target BOOLEAN NOT NULL,
    trials BIGINT NOT NULL,
    threshold DOUBLE NOT NULL,
    started_at VARCHAR NOT NULL,
    started_ns BIGINT NOT NULL
);

-- One row per case that an experiment tries.
CREATE TABLE eval_experiment_cases (
    experiment_id VARCHAR NOT NULL,
    case_id VARCHAR NOT NULL,
    case_sha256 VARCHAR NOT NULL
);

-- One row per trial that began.
CREATE TABLE eval_trial_starts (
    trial_id VARCHAR NOT NULL,
    experiment_id VARCHAR NOT NULL,
    case_id VARCHAR NOT NULL,
    trial BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    started_at VARCHAR NOT NULL,
    started_ns BIGINT NOT NULL
);

-- One row per trial that ended, also by an interruption that was found later.
CREATE TABLE eval_trial_ends (
    trial_id VARCHAR NOT NULL,
    verdict VARCHAR NOT NULL,
    ended_at VARCHAR NOT NULL,
    duration_ms BIGINT NOT NULL,
    target_name VARCHAR,
    target_version VARCHAR,
    capabilities VARCHAR NOT NULL,
    submits_events BOOLEAN NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost_usd DECIMAL(24, 12),
    world VARCHAR NOT NULL
);

-- One row per trace that a trial was written as: one a turn.
CREATE TABLE eval_trial_traces (
    trial_id VARCHAR NOT NULL,
    turn BIGINT NOT NULL,
    trace_id VARCHAR NOT NULL
);

-- One row per event of a trial, in order.
CREATE TABLE eval_trial_events (
    trial_id VARCHAR NOT NULL,
    seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    event VARCHAR NOT NULL
);

-- One row per check of a trial, as it was judged when the trial ended.
CREATE TABLE eval_trial_checks (
    trial_id VARCHAR NOT NULL,
    place BIGINT NOT NULL,
    check_id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    severity VARCHAR NOT NULL,
    verdict VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    events VARCHAR NOT NULL,
    measured BIGINT
);

-- One row per decision on an experiment; the newest counts.
CREATE TABLE eval_decisions (
    experiment_id VARCHAR NOT NULL,
    baseline_experiment_id VARCHAR,
    decision VARCHAR NOT NULL,
    decided VARCHAR NOT NULL,
    decided_at VARCHAR NOT NULL,
    decided_ns BIGINT NOT NULL
);

-- One row per word of a person on a trial; beside what was judged, not over it.
CREATE TABLE eval_reviews (
    trial_id VARCHAR NOT NULL,
    opinion VARCHAR NOT NULL,
    note VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    reviewed_at VARCHAR NOT NULL,
    reviewed_ns BIGINT NOT NULL
);

-- One row per token of the gate; of its text only the sha256 is kept.
CREATE TABLE eval_tokens (
    token_id VARCHAR NOT NULL,
    project_id VARCHAR NOT NULL,
    token_sha256 VARCHAR NOT NULL,
    label VARCHAR NOT NULL,
    issued_at VARCHAR NOT NULL,
    expires_ns BIGINT NOT NULL
);

-- One row per token that was taken back.
CREATE TABLE eval_token_revocations (
    token_id VARCHAR NOT NULL,
    revoked_at VARCHAR NOT NULL
);

COMMENT ON TABLE eval_projects IS 'Projects of evaluations, a row each';
COMMENT ON COLUMN eval_projects.project_id IS 'Names the project, from its file';
COMMENT ON COLUMN eval_projects.name IS 'Its name for people';
COMMENT ON COLUMN eval_projects.created_at IS 'When it was kept first, Korean time, ISO 8601';

COMMENT ON TABLE eval_experiments IS 'Experiments of evaluations: cases tried on one target, a row each';
COMMENT ON COLUMN eval_experiments.experiment_id IS 'Names the experiment';
COMMENT ON COLUMN eval_experiments.project_id IS 'The project (eval_projects)';
COMMENT ON COLUMN eval_experiments.role IS 'baseline or candidate';
COMMENT ON COLUMN eval_experiments.target IS 'Name of the target in the project file';
COMMENT ON COLUMN eval_experiments.target_kind IS 'reference, http, answer_only or script';
COMMENT ON COLUMN eval_experiments.config_sha256 IS 'sha256 of config: the configuration that the gate asks for';
COMMENT ON COLUMN eval_experiments.config IS 'Everything that decides behaviour, canonical JSON (RFC 8785), no secret';
COMMENT ON COLUMN eval_experiments.allow_private_target IS 'Whether the rules on addresses were lifted for the target';
COMMENT ON COLUMN eval_experiments.trials IS 'Trials of each case';
COMMENT ON COLUMN eval_experiments.threshold IS 'Share of trials that must pass, 0 to 1';
COMMENT ON COLUMN eval_experiments.started_at IS 'When, Korean time, ISO 8601';
COMMENT ON COLUMN eval_experiments.started_ns IS 'When, nanoseconds since 1970 UTC';

COMMENT ON TABLE eval_experiment_cases IS 'Cases that an experiment tries, a row each';
COMMENT ON COLUMN eval_experiment_cases.experiment_id IS 'The experiment (eval_experiments)';
COMMENT ON COLUMN eval_experiment_cases.case_id IS 'Id of the case';
COMMENT ON COLUMN eval_experiment_cases.case_sha256 IS 'The frozen version (eval_cases)';

COMMENT ON TABLE eval_trial_starts IS 'Trials that began, a row each';
COMMENT ON COLUMN eval_trial_starts.trial_id IS 'Names the trial; a further attempt has another one';
COMMENT ON COLUMN eval_trial_starts.experiment_id IS 'The experiment (eval_experiments)';
COMMENT ON COLUMN eval_trial_starts.case_id IS 'Id of the case';
COMMENT ON COLUMN eval_trial_starts.trial IS 'Which trial of the case, from 1';
COMMENT ON COLUMN eval_trial_starts.attempt IS 'Which attempt at that trial, from 1; the last one counts';
COMMENT ON COLUMN eval_trial_starts.started_at IS 'When, Korean time, ISO 8601';
COMMENT ON COLUMN eval_trial_starts.started_ns IS 'When, nanoseconds since 1970 UTC';

COMMENT ON TABLE eval_trial_ends IS 'Trials that ended, a row each; a trial without one goes on or was interrupted';
COMMENT ON COLUMN eval_trial_ends.trial_id IS 'The trial (eval_trial_starts)';
COMMENT ON COLUMN eval_trial_ends.verdict IS 'PASS, FAIL, ERROR, UNKNOWN, CANCELLED or NOT_APPLICABLE';
COMMENT ON COLUMN eval_trial_ends.ended_at IS 'When, Korean time, ISO 8601';
COMMENT ON COLUMN eval_trial_ends.duration_ms IS 'How long it took, milliseconds';
COMMENT ON COLUMN eval_trial_ends.target_name IS 'Name that the target gave of itself';
COMMENT ON COLUMN eval_trial_ends.target_version IS 'Version that the target gave of itself';
COMMENT ON COLUMN eval_trial_ends.capabilities IS 'Capabilities of the target, JSON array';
COMMENT ON COLUMN eval_trial_ends.submits_events IS 'Whether the target told of its proposals';
COMMENT ON COLUMN eval_trial_ends.input_tokens IS 'Tokens that went into models';
COMMENT ON COLUMN eval_trial_ends.output_tokens IS 'Tokens that came out of models';
COMMENT ON COLUMN eval_trial_ends.cost_usd IS 'What that cost, US dollars; NULL when no price is known';
COMMENT ON COLUMN eval_trial_ends.world IS 'The mock world at the end, JSON';

COMMENT ON TABLE eval_trial_traces IS 'Traces that trials were written as, a row each';
COMMENT ON COLUMN eval_trial_traces.trial_id IS 'The trial (eval_trial_starts)';
COMMENT ON COLUMN eval_trial_traces.turn IS 'The turn, from 1';
COMMENT ON COLUMN eval_trial_traces.trace_id IS 'The trace';

COMMENT ON TABLE eval_trial_events IS 'What happened in trials, a row an event';
COMMENT ON COLUMN eval_trial_events.trial_id IS 'The trial (eval_trial_starts)';
COMMENT ON COLUMN eval_trial_events.seq IS 'Its number in the trial, from 1, without gaps';
COMMENT ON COLUMN eval_trial_events.at_ms IS 'Milliseconds since the trial began';
COMMENT ON COLUMN eval_trial_events.turn IS 'The turn, from 1; 0 before the first';
COMMENT ON COLUMN eval_trial_events.kind IS 'What happened, as in the documents of events';
COMMENT ON COLUMN eval_trial_events.event IS 'The whole event, JSON';

COMMENT ON TABLE eval_trial_checks IS 'Checks of trials as they were judged, a row each';
COMMENT ON COLUMN eval_trial_checks.trial_id IS 'The trial (eval_trial_starts)';
COMMENT ON COLUMN eval_trial_checks.place IS 'Its place in the case, from 1';
COMMENT ON COLUMN eval_trial_checks.check_id IS 'Id of the check in the case';
COMMENT ON COLUMN eval_trial_checks.kind IS 'Kind of the check, as in the case';
COMMENT ON COLUMN eval_trial_checks.severity IS 'How much it weighs, as in the case; critical blocks';
COMMENT ON COLUMN eval_trial_checks.verdict IS 'PASS, FAIL, ERROR, UNKNOWN, CANCELLED or NOT_APPLICABLE';
COMMENT ON COLUMN eval_trial_checks.reason IS 'Why, a code';
COMMENT ON COLUMN eval_trial_checks.events IS 'seq of the events that decided it, JSON array';
COMMENT ON COLUMN eval_trial_checks.measured IS 'What was counted; NULL when nothing was';

COMMENT ON TABLE eval_decisions IS 'Decisions on experiments, a row each; the newest of an experiment counts';
COMMENT ON COLUMN eval_decisions.experiment_id IS 'The experiment (eval_experiments)';
COMMENT ON COLUMN eval_decisions.baseline_experiment_id IS 'The one it was compared with; NULL for none';
COMMENT ON COLUMN eval_decisions.decision IS 'blocked, held, review or candidate';
COMMENT ON COLUMN eval_decisions.decided IS 'The decision with its reasons and figures, JSON';
COMMENT ON COLUMN eval_decisions.decided_at IS 'When, Korean time, ISO 8601';
COMMENT ON COLUMN eval_decisions.decided_ns IS 'When, nanoseconds since 1970 UTC';

COMMENT ON TABLE eval_reviews IS 'What people say of trials, a row each; the newest of a trial counts';
COMMENT ON COLUMN eval_reviews.trial_id IS 'The trial (eval_trial_starts)';
COMMENT ON COLUMN eval_reviews.opinion IS 'agree, disagree or doubt';
COMMENT ON COLUMN eval_reviews.note IS 'Why';
COMMENT ON COLUMN eval_reviews.reviewer IS 'Who';
COMMENT ON COLUMN eval_reviews.reviewed_at IS 'When, Korean time, ISO 8601';
COMMENT ON COLUMN eval_reviews.reviewed_ns IS 'When, nanoseconds since 1970 UTC';

COMMENT ON TABLE eval_tokens IS 'Tokens of the gate, a row each';
COMMENT ON COLUMN eval_tokens.token_id IS 'Names the token; not the token itself';
COMMENT ON COLUMN eval_tokens.project_id IS 'The project it may ask of (eval_projects)';
COMMENT ON COLUMN eval_tokens.token_sha256 IS 'sha256 of the token';
COMMENT ON COLUMN eval_tokens.label IS 'What it is for, for people';
COMMENT ON COLUMN eval_tokens.issued_at IS 'When, Korean time, ISO 8601';
COMMENT ON COLUMN eval_tokens.expires_ns IS 'From here on it counts no more, nanoseconds since 1970 UTC';

COMMENT ON TABLE eval_token_revocations IS 'Tokens that were taken back, a row each';
COMMENT ON COLUMN eval_token_revocations.token_id IS 'The token (eval_tokens)';
COMMENT ON COLUMN eval_token_revocations.revoked_at IS 'When, Korean time, ISO 8601';
