-- What people said of a trial, the oldest first. Parameter: the trial.
SELECT r.opinion, r.note, r.reviewer, r.reviewed_at
FROM eval_reviews r
WHERE r.trial_id = ?
ORDER BY r.reviewed_ns;
