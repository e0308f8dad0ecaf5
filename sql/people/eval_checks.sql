-- View:    eval_checks
-- Judges:  nothing; what was judged when trials ended, for people who ask in
--          SQL.
-- Grain:   one row per check of a planned trial's last attempt.
-- Reads:   eval_trials, eval_trial_checks.
-- Fires when:        the attempt ended, whatever the verdict.
-- Stays silent when: the trial was not made or did not end.
-- Order:   none; experiment_id, case_id, trial, place is a useful one.
-- Version: first.
-- Tests:   tests/it/eval_report.rs
CREATE OR REPLACE VIEW eval_checks AS
SELECT
    t.experiment_id AS experiment_id,
    t.role AS role,
    t.target AS target,
    t.target_kind AS target_kind,
    t.config_sha256 AS config_sha256,
    t.case_id AS case_id,
    t.trial AS trial,
    t.trial_id AS trial_id,
    c.place AS place,
    c.check_id AS check_id,
    c.kind AS kind,
    c.severity AS severity,
    c.verdict AS verdict,
    c.reason AS reason,
    c.events AS events,
    c.measured AS measured
FROM eval_trials t
JOIN eval_trial_checks c ON c.trial_id = t.trial_id;
COMMENT ON VIEW eval_checks IS 'Checks of the last attempts at trials, a row each';
COMMENT ON COLUMN eval_checks.experiment_id IS 'The experiment (eval_experiments)';
COMMENT ON COLUMN eval_checks.role IS 'baseline or candidate';
COMMENT ON COLUMN eval_checks.target IS 'Name of the target in the project file';
COMMENT ON COLUMN eval_checks.target_kind IS 'reference, http, answer_only or script';
COMMENT ON COLUMN eval_checks.config_sha256 IS 'The configuration that the gate asks for';
COMMENT ON COLUMN eval_checks.case_id IS 'Id of the case';
COMMENT ON COLUMN eval_checks.trial IS 'Which trial of the case, from 1';
COMMENT ON COLUMN eval_checks.trial_id IS 'The attempt (eval_trials)';
COMMENT ON COLUMN eval_checks.place IS 'Place of the check in the case, from 1';
COMMENT ON COLUMN eval_checks.check_id IS 'Id of the check in the case';
COMMENT ON COLUMN eval_checks.kind IS 'Kind of the check, such as state_count';
COMMENT ON COLUMN eval_checks.severity IS 'normal or critical; a critical one that fails blocks';
COMMENT ON COLUMN eval_checks.verdict IS 'PASS, FAIL, ERROR, UNKNOWN, CANCELLED or NOT_APPLICABLE';
COMMENT ON COLUMN eval_checks.reason IS 'Why, a code';
COMMENT ON COLUMN eval_checks.events IS 'seq of the events that decided it (eval_events), JSON array';
COMMENT ON COLUMN eval_checks.measured IS 'What was counted; NULL when nothing was';
