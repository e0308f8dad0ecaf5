-- Keeps a project unless it is there.
-- Parameters: the columns in order.
INSERT INTO eval_projects
SELECT $1, $2, $3
WHERE NOT EXISTS (SELECT 1 FROM eval_projects p WHERE p.project_id = $1);
