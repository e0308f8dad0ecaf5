-- Adds what `ingest --mask` needs and tells.
-- Old data: a store without masking has no row in either table.

-- At most one row: the key of this store's pseudonyms. It is NULL when the key
-- lies outside of the store; the fingerprint then tells whether a given key is
-- the one. An export leaves this table out unless it is asked for.
CREATE TABLE mask_key (
    key VARCHAR,
    fingerprint VARCHAR NOT NULL
);

-- One row per file and kind of value: how many were replaced while reading it.
CREATE TABLE masked_counts (
    source_id BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    count BIGINT NOT NULL
);
