-- One frozen version of a case. Parameter: its sha256.
SELECT c.document
FROM eval_cases c
WHERE c.sha256 = ?;
