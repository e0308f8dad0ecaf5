-- Takes a token back. Parameters: the columns in order.
INSERT INTO eval_token_revocations (token_id, revoked_at) VALUES (?, ?);
