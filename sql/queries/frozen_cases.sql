-- Frozen cases by id, then in the order in which they were frozen.
SELECT c.sha256, c.id, c.name, c.document, c.frozen_at
FROM eval_cases c
ORDER BY c.id, c.frozen_at, c.sha256;
