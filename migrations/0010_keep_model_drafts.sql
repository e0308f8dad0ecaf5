-- Keeps drafts of descriptions that a model wrote, so that it is asked once
-- for a tool and the keys that were left out.
-- Old data: no model has been asked yet.

-- One row per model, tool as it is defined, keys left out and version of the
-- question; rows are only added.
CREATE TABLE model_drafts (
    provider VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    tool_sha256 VARCHAR NOT NULL,
    missing_keys VARCHAR NOT NULL,
    prompt_version BIGINT NOT NULL,
    tool_name VARCHAR NOT NULL,
    draft VARCHAR NOT NULL,
    drafted_at VARCHAR NOT NULL
);

COMMENT ON TABLE model_drafts IS 'Drafts of tool descriptions that a model wrote, a row a draft';
COMMENT ON COLUMN model_drafts.provider IS 'Who serves the model: anthropic or openai (any server of that form)';
COMMENT ON COLUMN model_drafts.model IS 'The model that was asked';
COMMENT ON COLUMN model_drafts.tool_sha256 IS 'sha256 of name, description and schema of the tool';
COMMENT ON COLUMN model_drafts.missing_keys IS 'Required keys that were left out, a JSON array';
COMMENT ON COLUMN model_drafts.prompt_version IS 'Version of the question';
COMMENT ON COLUMN model_drafts.tool_name IS 'Name of the tool';
COMMENT ON COLUMN model_drafts.draft IS 'The draft, as it passed the checks';
COMMENT ON COLUMN model_drafts.drafted_at IS 'When, Korean time, ISO 8601';
