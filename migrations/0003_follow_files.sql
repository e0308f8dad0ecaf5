-- Remembers how far each file was read, so that one that has grown is read on.
-- Old data: files read before have no row here. One of them that has grown is
-- read anew once, and what the store has of it settles as delivered again.

-- One row per state of a file under a path. source_id is the reading that came
-- to it; its content_hash stands in sources. A reading that goes on replaces
-- the row that it went on from.
CREATE TABLE source_positions (
    source_id BIGINT NOT NULL,
    path VARCHAR NOT NULL,
    size_bytes BIGINT NOT NULL,
    modified_ns BIGINT,
    device BIGINT,
    inode BIGINT,
    -- Hashes of the first and the last 4 KiB of those bytes.
    head_hash VARCHAR NOT NULL,
    tail_hash VARCHAR NOT NULL,
    -- Where hashing the content goes on.
    hashed_bytes BIGINT NOT NULL,
    hash_chain VARCHAR NOT NULL,
    -- Where reading goes on; NULL: at the beginning, because the file is
    -- compressed or no text of UTF-8.
    next_byte BIGINT,
    next_line BIGINT NOT NULL,
    -- Lines of that reading that are counted again when reading goes on.
    lines_again BIGINT NOT NULL,
    lines_skipped_again BIGINT NOT NULL
);
