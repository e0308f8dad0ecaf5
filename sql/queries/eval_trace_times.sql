-- First and last start of the runs that trials of an experiment were written
-- as; NULL when none is in the store. Parameter: the experiment.
WITH starts AS (
    SELECT MIN(p.start_ns) AS start_ns
    FROM eval_trial_traces r
    JOIN eval_trial_starts s ON s.trial_id = r.trial_id
    JOIN spans p ON p.trace_id = r.trace_id
    WHERE s.experiment_id = ?
    GROUP BY r.trace_id
)
SELECT MIN(t.start_ns), MAX(t.start_ns)
FROM starts t;
