-- Adds a token. Parameters: the columns in order.
INSERT INTO eval_tokens (
    token_id, project_id, token_sha256, label, issued_at, expires_ns
) VALUES (?, ?, ?, ?, ?, ?);
