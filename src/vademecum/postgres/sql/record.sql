-- name: hold_documents
-- Whoever deletes one of them waits until what quotes it is written, and then deletes that too.
SELECT id FROM document
WHERE tenant = %(tenant)s AND id = ANY (%(documents)s::uuid[])
ORDER BY id FOR KEY SHARE

-- name: insert_trace
INSERT INTO trace (tenant, id, principal, kind, documents, record, created_at)
VALUES (%(tenant)s, %(id)s::uuid, %(principal)s, %(kind)s, %(documents)s::uuid[],
        %(record)s::jsonb, %(created_at)s)
ON CONFLICT (tenant, id) DO NOTHING

-- name: insert_audit_event
INSERT INTO audit_event (tenant, trace, kind, principal, policy_epoch, chunks, occurred_at)
VALUES (%(tenant)s, %(id)s::uuid, %(kind)s, %(principal)s,
        coalesce((SELECT p.epoch FROM policy_epoch p WHERE p.tenant = %(tenant)s), 0),
        %(chunks)s::uuid[], %(created_at)s)

-- name: asked_texts
-- Of a search its query, of an answer those of its searches; each once, the newest first.
SELECT q.text
FROM trace t
CROSS JOIN LATERAL (
    SELECT jsonb_path_query(t.record, '$.query') #>> '{}' AS text
    UNION ALL
    SELECT jsonb_path_query(t.record, '$.searches[*].query') #>> '{}') AS q
WHERE t.tenant = %(tenant)s AND q.text ~ '\S'
GROUP BY q.text
ORDER BY max(t.created_at) DESC, q.text
LIMIT %(limit)s::int

-- name: get_traces
SELECT id, principal, kind, record, created_at FROM trace
WHERE tenant = %(tenant)s AND id = ANY (%(ids)s::uuid[])

-- name: get_trace
SELECT id, principal, kind, record, created_at FROM trace
WHERE tenant = %(tenant)s AND id = %(id)s::uuid
