-- How far files were read, the latest readings first.
SELECT p.source_id, s.content_hash, p.path, p.size_bytes, p.modified_ns,
    p.device, p.inode, p.head_hash, p.tail_hash, p.hashed_bytes, p.hash_chain,
    p.next_byte, p.next_line, p.lines_again, p.lines_skipped_again
FROM source_positions p
JOIN sources s ON s.source_id = p.source_id
ORDER BY p.source_id DESC, p.path, p.size_bytes DESC, p.modified_ns DESC;
