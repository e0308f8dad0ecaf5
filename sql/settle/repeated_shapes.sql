-- Shapes of arguments that an earlier file brought.
-- Parameter: source_id of the file.
DELETE FROM arg_shapes a
WHERE a.source_id = $source_id AND EXISTS (
    SELECT 1 FROM arg_shapes o
    WHERE o.args_shape = a.args_shape AND o.source_id < $source_id
);
