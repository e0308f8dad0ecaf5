-- View:    findings
-- Judges:  nothing itself; what the rule set in force found, for people who
--          ask in SQL.
-- Grain:   one row per finding of a run that can be judged.
-- Reads:   set_diagnosis_v2, tool_params, reviews, runs, set_run_v1.
-- Fires when:        a rule fires in a run with a final answer span.
-- Stays silent when: no rule fires, or the run cannot be judged.
-- Order:   none; start_ns, trace_id, then place, is the order of findings.
-- Version: first.
-- Tests:   tests/it/people.rs
CREATE OR REPLACE VIEW findings AS
-- Keys that do not fit come as a row each: one row per span of a finding.
WITH finding_spans AS (
    SELECT
        f.trace_id AS trace_id,
        f.priority AS priority,
        f.rule AS rule,
        f.finding AS finding,
        f.tool_name AS tool_name,
        f.span_id AS span_id,
        MIN(f.start_ns) AS start_ns,
        MIN(f.call_key) AS call_key,
        MIN(f.measured) AS measured,
        MIN(f.allowed) AS allowed
    FROM set_diagnosis_v2 f
    GROUP BY f.trace_id, f.priority, f.rule, f.finding, f.tool_name,
        f.span_id
),
-- One row per finding.
grouped AS (
    SELECT
        s.trace_id AS trace_id,
        s.priority AS priority,
        s.rule AS rule,
        s.finding AS finding,
        s.tool_name AS tool_name,
        LIST(s.span_id ORDER BY s.start_ns, s.call_key) AS span_ids,
        MIN(s.start_ns) AS start_ns,
        FIRST(s.call_key ORDER BY s.start_ns, s.call_key) AS call_key,
        MIN(s.measured) AS measured,
        MIN(s.allowed) AS allowed
    FROM finding_spans s
    GROUP BY s.trace_id, s.priority, s.rule, s.finding, s.tool_name
),
-- The keys that do not fit, in the order of the schema.
finding_keys AS (
    SELECT
        f.trace_id AS trace_id,
        f.rule AS rule,
        f.finding AS finding,
        LIST(f.arg_key ORDER BY p.required_position)
            FILTER (WHERE f.problem = 'missing') AS missing_keys,
        LIST(f.arg_key || ': ' || f.problem || ' → ' || p.declared_type
            ORDER BY p.position)
            FILTER (WHERE f.problem <> 'missing') AS type_errors
    FROM set_diagnosis_v2 f
    JOIN set_run_v1 r ON r.trace_id = f.trace_id
    JOIN tool_params p
        ON p.tool_set = r.tool_set
        AND p.tool_name = f.tool_name
        AND p.key = f.arg_key
    GROUP BY f.trace_id, f.rule, f.finding
),
-- What a person last said of a rule in a run; of all tools where no tool is
-- named.
reviewed AS (
    SELECT
        g.trace_id AS trace_id,
        g.rule AS rule,
        g.finding AS finding,
        ARG_MAX(v.decision, v.reviewed_ns) AS review,
        ARG_MAX(v.reason, v.reviewed_ns) AS review_reason
    FROM grouped g
    JOIN reviews v
        ON v.trace_id = g.trace_id
        AND v.rule = g.rule
        AND (v.tool_name IS NULL OR v.tool_name = g.tool_name)
    GROUP BY g.trace_id, g.rule, g.finding
)
SELECT
    g.trace_id AS trace_id,
    n.agent_name AS agent_name,
    n.korean_date AS korean_date,
    n.start_time AS start_time,
    CAST(ROW_NUMBER() OVER (
        PARTITION BY g.trace_id
        ORDER BY g.priority, g.start_ns, g.call_key, g.finding
    ) AS BIGINT) AS place,
    g.rule AS rule,
    CASE g.rule
        WHEN 'undefined_tool' THEN '정의에 없는 도구를 부름'
        WHEN 'args_mismatch' THEN '도구 정의와 맞지 않는 인자로 부름'
        WHEN 'timeout_exceeded' THEN '제한 시간을 넘겨 끊김'
        WHEN 'retry_over_limit'
            THEN '같은 호출을 재시도 한도보다 많이 되풀이함'
        WHEN 'error_hidden' THEN '도구 오류 뒤에도 성공처럼 답함'
    END AS verdict,
    g.tool_name AS tool_name,
    CASE WHEN g.rule = 'error_hidden'
        THEN LIST_APPEND(g.span_ids, r.final_span_id) ELSE g.span_ids
    END AS span_ids,
    COALESCE(k.missing_keys, []) AS missing_keys,
    COALESCE(k.type_errors, []) AS type_errors,
    g.measured AS measured,
    g.allowed AS allowed,
    CASE
        WHEN g.rule = 'undefined_tool' THEN '도구 설명'
        WHEN g.rule = 'args_mismatch' AND k.missing_keys IS NOT NULL
            THEN '도구 설명'
        WHEN g.rule = 'args_mismatch' THEN '인자 스키마'
        WHEN g.rule = 'timeout_exceeded' THEN '제한 시간 설정'
        WHEN g.rule = 'retry_over_limit' THEN '재시도 설정'
        WHEN g.rule = 'error_hidden' THEN '오류 처리 흐름'
    END AS fix_target,
    v.review AS review,
    v.review_reason AS review_reason,
    g.priority AS priority,
    n.start_ns AS start_ns
FROM grouped g
JOIN set_run_v1 r ON r.trace_id = g.trace_id
JOIN runs n ON n.trace_id = g.trace_id
LEFT JOIN finding_keys k
    ON k.trace_id = g.trace_id
    AND k.rule = g.rule
    AND k.finding = g.finding
LEFT JOIN reviewed v
    ON v.trace_id = g.trace_id
    AND v.rule = g.rule
    AND v.finding = g.finding
    AND v.review <> 'undone';
COMMENT ON VIEW findings IS 'What the rules found, a row a finding';
COMMENT ON COLUMN findings.trace_id IS 'The run';
COMMENT ON COLUMN findings.agent_name IS 'Agent of the final answer span';
COMMENT ON COLUMN findings.korean_date IS 'Date in Korea on which the run began';
COMMENT ON COLUMN findings.start_time IS 'Start of the run, Korean time, ISO 8601';
COMMENT ON COLUMN findings.place IS 'Place among the findings of the run, from 1, as diagnose lists them';
COMMENT ON COLUMN findings.rule IS 'undefined_tool, args_mismatch, timeout_exceeded, retry_over_limit or error_hidden';
COMMENT ON COLUMN findings.verdict IS 'The same in the words of diagnose';
COMMENT ON COLUMN findings.tool_name IS 'The tool called';
COMMENT ON COLUMN findings.span_ids IS 'The spans it rests on, in order of start; of a hidden error the final answer span comes last';
COMMENT ON COLUMN findings.missing_keys IS 'args_mismatch: required keys that are absent, in the order of required';
COMMENT ON COLUMN findings.type_errors IS 'args_mismatch: key: received type → declared type';
COMMENT ON COLUMN findings.measured IS 'timeout_exceeded: duration_ms; retry_over_limit: number of calls in a row';
COMMENT ON COLUMN findings.allowed IS 'timeout_exceeded: timeout_ms; retry_over_limit: max_retries';
COMMENT ON COLUMN findings.fix_target IS 'Where to fix this finding';
COMMENT ON COLUMN findings.review IS 'dismissed or confirmed: what a person last said; NULL when nobody did';
COMMENT ON COLUMN findings.review_reason IS 'The reason given';
COMMENT ON COLUMN findings.priority IS '1 is the most important rule';
COMMENT ON COLUMN findings.start_ns IS 'Start of the run, nanoseconds since 1970 UTC';
