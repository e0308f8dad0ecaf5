-- What touched traces took from messages is taken back: it is worked out anew
-- below, when all spans are where they belong.
UPDATE spans
SET tool_args = CASE WHEN args_from_messages THEN NULL ELSE tool_args END,
    args_key = CASE WHEN args_from_messages THEN NULL ELSE args_key END,
    args_shape = CASE WHEN args_from_messages THEN NULL ELSE args_shape END,
    args_from_messages = FALSE,
    asked_args = NULL
WHERE (args_from_messages OR asked_args IS NOT NULL)
    AND trace_id IN (SELECT t.trace_id FROM unsettled t);
