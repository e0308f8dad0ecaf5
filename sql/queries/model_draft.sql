-- The draft that was kept for a question; the first when stores were merged.
-- Parameters: provider, model, tool_sha256, missing_keys, prompt_version.
SELECT d.draft
FROM model_drafts d
WHERE d.provider = $1 AND d.model = $2 AND d.tool_sha256 = $3
  AND d.missing_keys = $4 AND d.prompt_version = $5
ORDER BY d.drafted_at, d.draft
LIMIT 1;
