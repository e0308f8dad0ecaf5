-- Trials of an experiment, each with its end.
-- Parameter: the experiment.
SELECT s.trial_id, s.experiment_id, s.case_id, s.trial, s.attempt,
    s.started_at, s.started_ns, e.verdict, e.ended_at, e.duration_ms,
    e.target_name, e.target_version, e.capabilities, e.submits_events,
    e.input_tokens, e.output_tokens, CAST(e.cost_usd AS VARCHAR), e.world
FROM eval_trial_starts s
LEFT JOIN eval_trial_ends e ON e.trial_id = s.trial_id
WHERE s.experiment_id = $1
ORDER BY s.case_id, s.trial, s.attempt, s.trial_id;
