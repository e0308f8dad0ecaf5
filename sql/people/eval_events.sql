-- View:    eval_events
-- Judges:  nothing; for people who ask in SQL.
-- Grain:   one row per event of a planned trial's last attempt.
-- Reads:   eval_trials, eval_trial_events.
-- Fires when:        the attempt ended and its events were kept.
-- Stays silent when: the trial was not made or did not end.
-- Order:   none; experiment_id, case_id, trial, seq is that of the events.
-- Version: first.
-- Tests:   tests/it/eval_report.rs
CREATE OR REPLACE VIEW eval_events AS
SELECT
    t.experiment_id AS experiment_id,
    t.role AS role,
    t.target AS target,
    t.target_kind AS target_kind,
    t.case_id AS case_id,
    t.trial AS trial,
    t.trial_id AS trial_id,
    t.verdict AS verdict,
    e.seq AS seq,
    e.at_ms AS at_ms,
    e.turn AS turn,
    e.kind AS kind,
    e.event AS event
FROM eval_trials t
JOIN eval_trial_events e ON e.trial_id = t.trial_id;
COMMENT ON VIEW eval_events IS 'What happened in the last attempts at trials, a row an event';
COMMENT ON COLUMN eval_events.experiment_id IS 'The experiment (eval_experiments)';
COMMENT ON COLUMN eval_events.role IS 'baseline or candidate';
COMMENT ON COLUMN eval_events.target IS 'Name of the target in the project file';
COMMENT ON COLUMN eval_events.target_kind IS 'reference, http, answer_only or script';
COMMENT ON COLUMN eval_events.case_id IS 'Id of the case';
COMMENT ON COLUMN eval_events.trial IS 'Which trial of the case, from 1';
COMMENT ON COLUMN eval_events.trial_id IS 'The attempt (eval_trials)';
COMMENT ON COLUMN eval_events.verdict IS 'Verdict of the trial';
COMMENT ON COLUMN eval_events.seq IS 'Number of the event in the trial, from 1, without gaps';
COMMENT ON COLUMN eval_events.at_ms IS 'Milliseconds since the trial began';
COMMENT ON COLUMN eval_events.turn IS 'The turn, from 1; 0 before the first';
COMMENT ON COLUMN eval_events.kind IS 'What happened: turn, proposal, call, result, answer, …';
COMMENT ON COLUMN eval_events.event IS 'The whole event, JSON';
