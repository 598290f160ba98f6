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

-- name: fates
SELECT c.id, c.document, r.number, i.number AS current, r.published_at,
       r.valid_from <= moment_of(%(as_of)s::date)
           AND r.valid_until > moment_of(%(as_of)s::date) AS in_force
FROM chunk c
JOIN revision r ON r.tenant = %(tenant)s AND r.id = c.revision
JOIN document d ON d.tenant = %(tenant)s AND d.id = c.document
LEFT JOIN revision i ON i.tenant = %(tenant)s AND i.id = d.current_revision
WHERE c.tenant = %(tenant)s AND c.id = ANY (%(ids)s::uuid[])

-- name: documents_changed
SELECT documents_changed(%(since)s) AS changed

-- name: traces_between
SELECT id FROM trace
WHERE tenant = %(tenant)s AND created_at >= %(begin)s AND created_at < %(until)s
ORDER BY created_at, id
LIMIT %(limit)s::int

-- name: get_traces
SELECT id, principal, kind, record, created_at FROM trace
WHERE tenant = %(tenant)s AND id = ANY (%(ids)s::uuid[])

-- name: get_trace
SELECT id, principal, kind, record, created_at FROM trace
WHERE tenant = %(tenant)s AND id = %(id)s::uuid
