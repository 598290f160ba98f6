-- name: lock_person
-- One at a time writes the memories of a person, so that one fact cannot become two.
SELECT pg_advisory_xact_lock(%(key)s::bigint)

-- name: off
SELECT EXISTS (SELECT FROM memory_off
               WHERE tenant = %(tenant)s AND principal = %(principal)s) AS off

-- name: switch_off
INSERT INTO memory_off (tenant, principal) VALUES (%(tenant)s, %(principal)s)
ON CONFLICT DO NOTHING
RETURNING principal

-- name: switch_on
DELETE FROM memory_off WHERE tenant = %(tenant)s AND principal = %(principal)s
RETURNING principal

-- name: pass_over
-- What was said while it was off, or before and not learned from yet, never is.
UPDATE conversation
SET learned_through = greatest(learned_through, saved_through), learn_attempts = 0,
    learn_after = '-infinity'
WHERE tenant = %(tenant)s AND principal = %(principal)s

-- name: relationship
WITH spoken AS (
    SELECT t.created_at FROM turn t
    WHERE t.tenant = %(tenant)s AND t.principal = %(principal)s AND t.role = 'user'
    ORDER BY t.created_at LIMIT %(most)s
)
SELECT count(*) AS turns,
       coalesce(extract(epoch FROM (
           SELECT max(t.created_at) FROM turn t
           WHERE t.tenant = %(tenant)s AND t.principal = %(principal)s AND t.role = 'user')
           - min(s.created_at)), 0)::double precision / 86400 AS days
FROM spoken s

-- name: profile
-- Of facts only the first, so that a person of many memories is as quickly read as another.
(SELECT m.*, m.state AS state_now
 FROM memory m JOIN usable_memories(%(persona)s, %(reached)s::text[]) AS u ON u.memory = m.id
 WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.pinned
 ORDER BY m.importance DESC, m.id DESC
 LIMIT %(pinned)s)
UNION ALL
(SELECT m.*, m.state AS state_now
 FROM memory m JOIN usable_memories(%(persona)s, %(reached)s::text[]) AS u ON u.memory = m.id
 WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND NOT m.pinned
   AND m.kind = ANY (%(kinds)s::text[]) AND m.importance >= %(importance)s
 ORDER BY m.importance DESC, m.id DESC
 LIMIT %(facts)s)

-- name: usable
SELECT m.*, m.state AS state_now
FROM memory m JOIN usable_memories(%(persona)s, %(reached)s::text[]) AS u ON u.memory = m.id
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.id = ANY (%(ids)s::uuid[])

-- name: languages
SELECT u.language, count(*) AS memories
FROM usable_memories(%(persona)s, %(reached)s::text[]) AS u
GROUP BY u.language

-- name: frequencies
SELECT s.term, s.memories
FROM memory_statistics(%(generation)s::int, %(persona)s, %(reached)s::text[], %(terms)s::int[]) AS s

-- name: search_keyword
SELECT s.memory, s.score
FROM search_memories_keyword(%(generation)s::int, %(persona)s, %(reached)s::text[],
                             %(terms)s::int[], %(query)s::sparsevec, %(k)s::int) AS s

-- name: holding
SELECT h.memory, h.held
FROM memories_holding(%(generation)s::int, %(persona)s, %(reached)s::text[], %(terms)s::int[],
                      %(masses)s::float8[], %(k)s::int) AS h

-- name: search_dense
SELECT s.memory, s.score
FROM search_memories_dense(%(generation)s::int, %(persona)s, %(reached)s::text[],
                           %(query)s::halfvec, %(k)s::int) AS s

-- name: cosines
SELECT s.memory, s.score
FROM memory_cosines(%(generation)s::int, %(ids)s::uuid[], %(query)s::halfvec) AS s

-- name: last_said
SELECT t.text FROM turn t
WHERE t.tenant = %(tenant)s AND t.conversation = %(conversation)s::uuid
  AND t.principal = %(principal)s AND t.role = 'user'
ORDER BY t.position DESC LIMIT 1

-- name: last_of
-- What an order said was known already came from elsewhere, and is what was spoken of all the same.
SELECT m.*, m.state AS state_now
FROM memory m
JOIN turn t ON t.tenant = %(tenant)s AND t.conversation = %(conversation)s::uuid
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.persona = %(persona)s
  AND m.state = 'active' AND (m.expires_at IS NULL OR m.expires_at > now())
  AND (t.id = m.source_turn
       OR (m.id = ANY (t.used_memories)
           AND EXISTS (SELECT FROM trace x WHERE x.tenant = %(tenant)s AND x.id = t.trace
                       AND x.record ? 'command')))
ORDER BY t.position DESC, m.id DESC LIMIT 1

-- name: neighbours
WITH near AS (
    SELECT f.id FROM memory f
    WHERE f.tenant = %(tenant)s AND f.principal = %(principal)s AND f.persona = %(persona)s
      AND f.fingerprint = %(fingerprint)s
    UNION
    SELECT p.id FROM memory p
    WHERE p.tenant = %(tenant)s AND p.principal = %(principal)s AND p.persona = %(persona)s
      AND p.topic <> '' AND p.topic = %(topic)s AND p.state <> 'superseded'
    UNION
    SELECT s.memory
    FROM memories_sharing(%(generation)s::int, %(persona)s, %(terms)s::int[], %(each)s::int,
                          %(wanted)s::int) AS s
)
SELECT m.*, m.state AS state_now
FROM memory m JOIN near n ON n.id = m.id
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.persona = %(persona)s
  AND m.state <> 'superseded' AND (m.expires_at IS NULL OR m.expires_at > now())
ORDER BY m.id

-- name: insert
INSERT INTO memory (tenant, id, principal, persona, kind, text, language, fingerprint, topic,
                    importance, emotion, confidence, reason, origin, state, held_until, pinned,
                    sensitive, consented_at, source, source_turn, source_words, client,
                    true_from, true_until, expires_at)
VALUES (%(tenant)s, %(id)s::uuid, %(principal)s, %(persona)s, %(kind)s, %(text)s, %(language)s,
        %(fingerprint)s, %(topic)s, %(importance)s, %(emotion)s, %(confidence)s, %(reason)s,
        %(origin)s, %(state)s, %(held_until)s, %(pinned)s, %(sensitive)s::text[],
        CASE WHEN %(consented)s THEN now() END, %(source)s, %(source_turn)s::uuid,
        %(source_words)s, %(client)s,
        coalesce(%(true_from)s::date, CASE WHEN %(replaces)s THEN current_date END),
        %(true_until)s::date, %(expires_at)s::timestamptz)
RETURNING *, state AS state_now

-- name: supersede
UPDATE memory m
SET state = 'superseded', held_until = NULL, known_until = now(), superseded_by = %(by)s::uuid,
    true_until = coalesce(m.true_until, %(true_until)s::date, current_date),
    version = m.version + 1
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.id = ANY (%(ids)s::uuid[])
  AND m.state <> 'superseded'

-- name: keep_pinned
UPDATE memory m SET pinned = true, version = m.version + 1
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.id = %(id)s::uuid
RETURNING *, state AS state_now

-- name: confirm
-- Whoever says a thing again means it now, also where it waited or was put away.
UPDATE memory m
SET confirmed_at = now(), version = m.version + 1, known_until = NULL, superseded_by = NULL,
    true_until = CASE WHEN m.state <> 'superseded' THEN m.true_until END,
    state = CASE WHEN m.state = 'held' THEN 'held' ELSE 'active' END,
    consented_at = CASE WHEN cardinality(m.sensitive) > 0 THEN coalesce(m.consented_at, now()) END,
    pinned = m.pinned OR %(pinned)s, importance = greatest(m.importance, %(importance)s)
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.id = %(id)s::uuid
RETURNING *, state AS state_now

-- name: keep_version
INSERT INTO memory_version (tenant, memory, version, principal, kind, text, language, true_from,
                            true_until, known_from, known_until)
SELECT m.tenant, m.id, m.version, m.principal, m.kind, m.text, m.language, m.true_from,
       m.true_until, m.known_from, now()
FROM memory m
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.id = %(id)s::uuid

-- name: rewrite
UPDATE memory m
SET text = %(text)s, language = %(language)s, fingerprint = %(fingerprint)s, topic = %(topic)s,
    sensitive = %(sensitive)s::text[],
    consented_at = CASE WHEN cardinality(%(sensitive)s::text[]) > 0 THEN now() END,
    known_from = now(), changed_at = now(), unembedded = NULL, given_up = '{}',
    version = m.version + 1
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.id = %(id)s::uuid
RETURNING *, state AS state_now

-- name: change
UPDATE memory m
SET kind = coalesce(%(kind)s, m.kind), importance = coalesce(%(importance)s, m.importance),
    emotion = coalesce(%(emotion)s, m.emotion), pinned = coalesce(%(pinned)s, m.pinned),
    expires_at = coalesce(%(expires_at)s::timestamptz, m.expires_at), changed_at = now(),
    version = m.version + 1
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.id = %(id)s::uuid
RETURNING *, state AS state_now

-- name: own
-- Past its time it is as good as gone.
SELECT m.*, m.state AS state_now FROM memory m
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.id = %(id)s::uuid
  AND (m.expires_at IS NULL OR m.expires_at > now())

-- name: versions
SELECT v.* FROM memory_version v
WHERE v.tenant = %(tenant)s AND v.principal = %(principal)s AND v.memory = %(id)s::uuid
ORDER BY v.version

-- name: all
SELECT m.*, CASE WHEN m.expires_at <= now() THEN 'expired' ELSE m.state END AS state_now
FROM memory m
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s
  AND (%(persona)s::text IS NULL OR m.persona = %(persona)s)
  AND CASE WHEN m.expires_at <= now() THEN 'expired' ELSE m.state END = ANY (%(states)s::text[])
ORDER BY m.id

-- name: believed
-- What was known at the moment, with the words that it had then, and was not past its time then.
SELECT m.*, 'active' AS state_now, m.text AS text_then, m.kind AS kind_then,
       m.true_from AS true_from_then, m.true_until AS true_until_then,
       m.known_from AS known_from_then, m.known_until AS known_until_then
FROM memory m
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s
  AND (%(persona)s::text IS NULL OR m.persona = %(persona)s)
  AND m.state NOT IN ('pending', 'held') AND m.known_from <= %(moment)s
  AND (m.known_until IS NULL OR m.known_until > %(moment)s)
  AND (m.expires_at IS NULL OR m.expires_at > %(moment)s)
UNION ALL
SELECT m.*, 'active', v.text, v.kind, v.true_from, v.true_until, v.known_from, v.known_until
FROM memory_version v
JOIN memory m ON m.tenant = %(tenant)s AND m.id = v.memory
WHERE v.tenant = %(tenant)s AND v.principal = %(principal)s
  AND (%(persona)s::text IS NULL OR m.persona = %(persona)s)
  AND v.known_from <= %(moment)s AND v.known_until > %(moment)s
  AND (m.expires_at IS NULL OR m.expires_at > %(moment)s)
ORDER BY id

-- name: bury
INSERT INTO memory_tombstone (tenant, memory, principal, source_turn, why)
SELECT m.tenant, m.id, m.principal, m.source_turn, %(why)s FROM memory m
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.id = %(id)s::uuid
RETURNING memory

-- name: bury_turn
-- No memory came of it yet, and none shall.
INSERT INTO memory_tombstone (tenant, memory, principal, source_turn, why)
VALUES (%(tenant)s, %(id)s::uuid, %(principal)s, %(turn)s::uuid, 'asked')

-- name: unlearned
SELECT t.id, t.text
FROM conversation c JOIN turn t ON t.tenant = c.tenant AND t.conversation = c.id
WHERE c.tenant = %(tenant)s AND c.principal = %(principal)s AND c.persona = %(persona)s
  AND t.tenant = %(tenant)s AND t.role = 'user' AND t.position > c.learned_through
ORDER BY t.position DESC
LIMIT 200

-- name: erase
DELETE FROM memory m
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.id = %(id)s::uuid

-- name: used
-- Locked in one order, so that two answers of one person never wait for each other.
WITH shown AS (
    SELECT s.id FROM memory s
    WHERE s.tenant = %(tenant)s AND s.principal = %(principal)s AND s.id = ANY (%(ids)s::uuid[])
    ORDER BY s.id FOR UPDATE
)
UPDATE memory m SET uses = m.uses + 1, last_used_at = now()
FROM shown
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.id = shown.id

-- name: index_memory
SELECT index_memory(%(generation)s::int, %(id)s::uuid, %(version)s::int, %(vector)s::halfvec,
                    %(terms)s::int[], %(weights)s::sparsevec)

-- name: gaps
SELECT m.*, m.state AS state_now
FROM memory_gaps(%(generation)s::int, %(after)s::uuid, %(limit)s::int) AS g
JOIN memory m ON m.id = g.memory
WHERE m.tenant = %(tenant)s
ORDER BY m.id

-- name: give_up
UPDATE memory m SET unembedded = %(reason)s, given_up = m.given_up || %(generation)s::int
WHERE m.tenant = %(tenant)s AND m.id = %(id)s::uuid AND m.version = %(version)s

-- name: erase_expired
WITH gone AS (
    DELETE FROM memory m
    WHERE m.tenant = %(tenant)s AND m.expires_at < %(before)s
    RETURNING m.tenant, m.id, m.principal, m.source_turn
)
INSERT INTO memory_tombstone (tenant, memory, principal, source_turn, why)
SELECT g.tenant, g.id, g.principal, g.source_turn, 'expired' FROM gone g
RETURNING memory

-- name: erase_old
WITH gone AS (
    DELETE FROM memory m
    WHERE m.tenant = %(tenant)s AND m.kind = %(kind)s AND NOT m.pinned
      AND greatest(m.changed_at, m.last_used_at, m.confirmed_at) < %(before)s
    RETURNING m.tenant, m.id, m.principal, m.source_turn
)
INSERT INTO memory_tombstone (tenant, memory, principal, source_turn, why)
SELECT g.tenant, g.id, g.principal, g.source_turn, 'retention' FROM gone g
RETURNING memory

-- name: archive_trivia
-- In one statement, so that what was pinned, confirmed or used meanwhile is seen.
UPDATE memory m
SET state = 'archived', known_until = now(), version = m.version + 1
WHERE m.tenant = %(tenant)s AND m.state = 'active' AND NOT m.pinned AND m.confirmed_at IS NULL
  AND m.importance < %(importance)s AND greatest(m.changed_at, m.last_used_at) < %(before)s
RETURNING m.id

-- name: late
SELECT m.*, m.state AS state_now FROM memory m
WHERE m.tenant = %(tenant)s AND m.state = 'active' AND NOT m.pinned AND m.confirmed_at IS NULL
  AND m.changed_at > %(since)s AND m.id > %(after)s::uuid
  AND (m.expires_at IS NULL OR m.expires_at > now())
ORDER BY m.id
LIMIT %(limit)s

-- name: merge
-- Only as both were read: whoever changed, pinned or confirmed one of them meanwhile wins.
UPDATE memory m
SET state = 'superseded', known_until = now(), superseded_by = %(by)s::uuid, version = m.version + 1
WHERE m.tenant = %(tenant)s AND m.id = %(id)s::uuid AND m.version = %(version)s
  AND m.state = 'active' AND NOT m.pinned AND m.confirmed_at IS NULL
  AND EXISTS (SELECT FROM memory o
              WHERE o.tenant = %(tenant)s AND o.id = %(by)s::uuid AND o.version = %(by_version)s
                AND o.state = 'active' AND o.principal = m.principal AND o.persona = m.persona)
RETURNING m.id

-- name: hold_turn
SELECT t.id FROM turn t
WHERE t.tenant = %(tenant)s AND t.principal = %(principal)s AND t.id = %(turn)s::uuid
FOR KEY SHARE

-- name: learned_from
SELECT m.*, m.state AS state_now FROM memory m
WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s AND m.source_turn = %(turn)s::uuid
