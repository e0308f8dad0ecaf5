-- Keeps a draft, unless one was kept for the same question meanwhile.
-- Parameters: the columns in order.
INSERT INTO model_drafts
SELECT $1, $2, $3, $4, $5, $6, $7, $8
WHERE NOT EXISTS (
    SELECT 1
    FROM model_drafts d
    WHERE d.provider = $1 AND d.model = $2 AND d.tool_sha256 = $3
      AND d.missing_keys = $4 AND d.prompt_version = $5
);
