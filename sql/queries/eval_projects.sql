-- Projects by id.
SELECT p.project_id
FROM eval_projects p
ORDER BY p.project_id;
