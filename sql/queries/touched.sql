-- The traces that the file settled last touched.
SELECT t.trace_id FROM touched t ORDER BY t.trace_id;
