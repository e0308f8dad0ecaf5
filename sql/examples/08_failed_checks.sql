SELECT
    c.case_id,
    c.check_id,
    c.severity,
    c.reason,
    COUNT(*) AS trials,
    MIN(c.trial_id) AS first_trial
FROM eval_checks c
WHERE c.verdict = 'FAIL'
GROUP BY c.case_id, c.check_id, c.severity, c.reason
ORDER BY c.severity, trials DESC, c.case_id, c.check_id, c.reason;
