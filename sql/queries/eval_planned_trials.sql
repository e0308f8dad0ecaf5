-- Planned trials of an experiment, by case and number.
-- Parameter: the experiment.
SELECT t.case_id, t.trial, t.trial_id, t.attempt, t.state, t.verdict,
    t.target_name, t.target_version, COALESCE(d.submits_events, FALSE),
    t.started_at, t.started_ns, t.duration_ms,
    COALESCE(t.input_tokens, 0), COALESCE(t.output_tokens, 0),
    CAST(t.cost_usd AS VARCHAR), t.review, t.review_note, t.reviewer,
    t.reviewed_at
FROM eval_trials t
LEFT JOIN eval_trial_ends d ON d.trial_id = t.trial_id
WHERE t.experiment_id = ?
ORDER BY t.case_id, t.trial;
