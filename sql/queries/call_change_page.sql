-- Calls that changed in one way, in order of loading. Parameters: the change,
-- how many are wanted, how many are passed over.
SELECT c.change, c.call_no, c.before, c.after
FROM call_changes c
WHERE c.change = ?
ORDER BY c.place, c.call_no
LIMIT ? OFFSET ?;
