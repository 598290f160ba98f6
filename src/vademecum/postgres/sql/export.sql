-- name: memories
SELECT m.*, CASE WHEN m.expires_at <= now() THEN 'expired' ELSE m.state END AS state_now
FROM memory m
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s
ORDER BY m.id

-- name: versions
SELECT v.* FROM memory_version v
WHERE v.tenant = %(tenant)s AND v.principal = %(principal)s
ORDER BY v.memory, v.version

-- name: conversations
SELECT c.id, c.principal, c.persona, c.title, c.summary, c.summary_through, c.summary_version,
       c.created_at, c.last_at,
       (SELECT count(*) FROM turn t WHERE t.tenant = %(tenant)s AND t.conversation = c.id) AS turns
FROM conversation c
WHERE c.tenant = %(tenant)s AND c.principal = %(principal)s
ORDER BY c.last_at DESC, c.id

-- name: turns
SELECT t.conversation, t.id, t.position, t.role, t.speaker, t.text, t.state, t.reply_to, t.variant,
       t.language, t.used_chunks, t.used_memories, t.trace, t.created_at, t.zone
FROM turn t JOIN conversation c ON c.tenant = %(tenant)s AND c.id = t.conversation
WHERE t.tenant = %(tenant)s AND c.principal = %(principal)s
ORDER BY t.position
