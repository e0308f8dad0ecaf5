-- Keeps frozen cases of evaluations.
-- Old data: none was frozen yet.

-- One row per frozen version of a case; rows are only added, none changes.
CREATE TABLE eval_cases (
    sha256 VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    document VARCHAR NOT NULL,
    frozen_at VARCHAR NOT NULL
);

COMMENT ON TABLE eval_cases IS 'Frozen versions of evaluation cases, a row each';
COMMENT ON COLUMN eval_cases.sha256 IS 'sha256 of document: names the version';
COMMENT ON COLUMN eval_cases.id IS 'The case, the same for all its versions';
COMMENT ON COLUMN eval_cases.name IS 'Its name for people';
COMMENT ON COLUMN eval_cases.document IS 'irumx-eval-case/1 as canonical JSON (RFC 8785)';
COMMENT ON COLUMN eval_cases.frozen_at IS 'When, Korean time, ISO 8601';
