-- name: insert_conversation
INSERT INTO conversation (tenant, id, principal, persona, title)
VALUES (%(tenant)s, %(id)s::uuid, %(principal)s, coalesce(%(persona)s, 'default'), %(title)s)
ON CONFLICT (tenant, id) DO NOTHING

-- name: hold_conversation
-- Whoever adds a turn holds the conversation until it is committed, so that places are given in
-- the order in which turns can be seen.
UPDATE conversation SET last_at = now()
WHERE tenant = %(tenant)s AND id = %(id)s::uuid AND principal = %(principal)s
  AND (%(persona)s::text IS NULL OR persona = %(persona)s)
RETURNING persona, summary, summary_through

-- name: own_conversation
SELECT c.id, c.principal, c.persona, c.title, c.summary, c.summary_through, c.summary_version,
       c.created_at, c.last_at,
       (SELECT count(*) FROM turn t WHERE t.tenant = %(tenant)s AND t.conversation = c.id) AS turns
FROM conversation c
WHERE c.tenant = %(tenant)s AND c.id = %(id)s::uuid AND c.principal = %(principal)s

-- name: conversations
SELECT c.id, c.principal, c.persona, c.title, c.summary, c.summary_through, c.summary_version,
       c.created_at, c.last_at,
       (SELECT count(*) FROM turn t WHERE t.tenant = %(tenant)s AND t.conversation = c.id) AS turns
FROM conversation c
WHERE c.tenant = %(tenant)s AND c.principal = %(principal)s
  AND (%(persona)s::text IS NULL OR c.persona = %(persona)s)
ORDER BY c.last_at DESC, c.id

-- name: rename
UPDATE conversation SET title = %(title)s
WHERE tenant = %(tenant)s AND id = %(id)s::uuid AND principal = %(principal)s
RETURNING id

-- name: latest
SELECT id FROM conversation
WHERE tenant = %(tenant)s AND principal = %(principal)s AND persona = %(persona)s
  AND last_at >= %(since)s
ORDER BY last_at DESC, id DESC LIMIT 1

-- name: turns
SELECT id, position, role, speaker, text, state, reply_to, variant, language, used_chunks,
       used_memories, trace, created_at, zone
FROM turn
WHERE tenant = %(tenant)s AND conversation = %(id)s::uuid AND position > %(after)s
ORDER BY position

-- name: insert_turn
INSERT INTO turn (tenant, id, conversation, principal, role, speaker, text, state, reply_to,
                  variant, language, trace, created_at, zone)
VALUES (%(tenant)s, %(id)s::uuid, %(conversation)s::uuid, %(principal)s, %(role)s, %(speaker)s,
        %(text)s, %(state)s, %(reply_to)s::uuid, %(variant)s, %(language)s, %(trace)s::uuid,
        coalesce(%(created_at)s, now()), %(zone)s)
RETURNING position

-- name: finish_turn
UPDATE turn SET text = %(text)s, state = %(state)s, language = %(language)s,
    used_chunks = %(used_chunks)s::uuid[], used_memories = %(used_memories)s::uuid[],
    documents = %(documents)s::uuid[], trace = %(trace)s::uuid
WHERE tenant = %(tenant)s AND id = %(id)s::uuid AND state = 'writing'
RETURNING position

-- name: delete_turn
-- It would quote what has been deleted while it was written.
DELETE FROM turn WHERE tenant = %(tenant)s AND id = %(id)s::uuid AND state = 'writing'

-- name: saved
UPDATE conversation SET saved_through = greatest(saved_through, %(position)s), last_at = now()
WHERE tenant = %(tenant)s AND id = %(id)s::uuid

-- name: enqueue_conversation
SELECT enqueue_conversation(%(id)s::uuid)

-- name: unfolded
SELECT principal, summary, summary_through, summary_version, saved_through FROM conversation
WHERE tenant = %(tenant)s AND id = %(id)s::uuid

-- name: fold
UPDATE conversation SET summary = %(summary)s, summary_through = %(through)s,
    summary_version = summary_version + 1
WHERE tenant = %(tenant)s AND id = %(id)s::uuid AND summary_version = %(version)s
  AND summary_through < %(through)s
RETURNING id

-- name: tended
UPDATE conversation SET tended_through = %(through)s, tend_attempts = 0, tend_after = '-infinity'
WHERE tenant = %(tenant)s AND id = %(id)s::uuid AND summary_version = %(version)s

-- name: put_off
UPDATE conversation SET tend_attempts = tend_attempts + 1,
    tend_after = now() + least(3600, 15 * 2 ^ least(tend_attempts, 10)) * interval '1 second'
WHERE tenant = %(tenant)s AND id = %(id)s::uuid

-- name: count_conversation
SELECT (SELECT count(*) FROM turn t
        WHERE t.tenant = %(tenant)s AND t.conversation = %(id)s::uuid) AS turns,
       (SELECT count(*) FROM turn_unit u JOIN turn t ON t.tenant = u.tenant AND t.id = u.turn
        WHERE t.tenant = %(tenant)s AND u.tenant = %(tenant)s
          AND t.conversation = %(id)s::uuid) AS turn_units,
       (SELECT count(*) FROM conversation c
        WHERE c.tenant = %(tenant)s AND c.id = %(id)s::uuid AND c.summary <> '') AS summaries,
       (SELECT count(*) FROM trace x
        WHERE x.tenant = %(tenant)s AND x.id = ANY (%(traces)s::uuid[])) AS traces,
       (SELECT count(*) FROM memory m
        WHERE m.tenant = %(tenant)s AND m.id = ANY (%(memories)s::uuid[])) AS memories,
       (SELECT count(*) FROM conversation c
        WHERE c.tenant = %(tenant)s AND c.id = %(id)s::uuid) AS conversations

-- name: traces_of
SELECT DISTINCT trace FROM turn
WHERE tenant = %(tenant)s AND conversation = %(id)s::uuid AND trace IS NOT NULL

-- name: memories_of
-- Those that were taken from its turns, by order or not: they are made of what was said there.
SELECT m.id FROM memory m JOIN turn t ON t.tenant = %(tenant)s AND t.id = m.source_turn
WHERE m.tenant = %(tenant)s AND t.conversation = %(id)s::uuid

-- name: delete_memories_of
DELETE FROM memory WHERE tenant = %(tenant)s AND id = ANY (%(memories)s::uuid[])

-- name: delete_traces_of
DELETE FROM trace WHERE tenant = %(tenant)s AND id = ANY (%(traces)s::uuid[])

-- name: delete_conversation
DELETE FROM conversation WHERE tenant = %(tenant)s AND id = %(id)s::uuid
