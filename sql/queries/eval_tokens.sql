-- Tokens in the order in which they were issued.
SELECT t.token_id, t.project_id, t.token_sha256, t.label, t.issued_at,
    t.expires_ns, MIN(v.revoked_at)
FROM eval_tokens t
LEFT JOIN eval_token_revocations v ON v.token_id = t.token_id
GROUP BY ALL
ORDER BY t.issued_at, t.token_id;
