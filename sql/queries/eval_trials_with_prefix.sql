-- Trials whose id begins so: id and experiment. Parameter: the beginning.
SELECT s.trial_id, s.experiment_id
FROM eval_trial_starts s
WHERE STARTS_WITH(s.trial_id, ?)
ORDER BY s.trial_id;
