-- name: held
-- How much of a tenant there is.
SELECT (SELECT count(*) FROM document d WHERE d.tenant = %(tenant)s) AS documents,
       (SELECT count(*) FROM revision r WHERE r.tenant = %(tenant)s) AS revisions,
       (SELECT count(*) FROM chunk c WHERE c.tenant = %(tenant)s) AS chunks,
       (SELECT count(*) FROM conversation v WHERE v.tenant = %(tenant)s) AS conversations

-- name: stage_times
-- Of the searches and answers since a moment: each stage of an answer, and of the searches in it.
SELECT s.stage, count(*) AS count,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY s.ms) AS middle,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY s.ms) AS slow
FROM trace t
CROSS JOIN LATERAL (
    SELECT CASE t.kind WHEN 'ask' THEN 'answer' ELSE 'search' END || '.' || e.key AS stage,
           e.value::float8 AS ms
    FROM jsonb_each_text(t.record -> 'timings_ms') AS e
    UNION ALL
    SELECT 'search.' || e.key, e.value::float8
    FROM jsonb_path_query(t.record, '$.searches[*].timings_ms') AS q
    CROSS JOIN LATERAL jsonb_each_text(q) AS e) AS s
WHERE t.tenant = %(tenant)s AND t.created_at >= %(since)s
GROUP BY s.stage ORDER BY s.stage

-- name: shares
-- Of the answers since a moment: how many did not know, and how many searches were not sure.
SELECT count(*) FILTER (WHERE t.kind = 'ask') AS asked,
       count(*) FILTER (WHERE t.kind = 'ask' AND t.record @@ '$.abstained == true') AS refused,
       coalesce(sum(c.searches), 0)::bigint AS searches,
       coalesce(sum(c.low), 0)::bigint AS low
FROM trace t
CROSS JOIN LATERAL (
    SELECT count(*) AS searches, count(*) FILTER (WHERE v::float8 < %(low)s) AS low
    FROM (SELECT jsonb_path_query(t.record, '$.searches[*].abstain.confidence')
          UNION ALL
          SELECT jsonb_path_query(t.record, '$.abstain.confidence')) AS q (v)) AS c
WHERE t.tenant = %(tenant)s AND t.created_at >= %(since)s

-- name: recent_traces
-- The text of a question is only for whoever asked it.
SELECT t.id, t.kind, t.principal, t.created_at,
       CASE WHEN t.principal = %(principal)s
            THEN coalesce(t.record ->> 'question', t.record ->> 'query', '') ELSE '' END AS text,
       (t.record ->> 'abstained')::boolean AS abstained,
       (t.record -> 'timings_ms' ->> 'total')::float8 AS milliseconds
FROM trace t
WHERE t.tenant = %(tenant)s
ORDER BY t.created_at DESC, t.id
LIMIT %(limit)s::int
