-- name: unindexed
SELECT t.id, t.text, t.speaker, t.role, t.created_at, t.principal,
       coalesce(b.text, '') AS before, coalesce(b.speaker, '') AS before_speaker,
       coalesce(b.role, 'user') AS before_role, u.turn IS NOT NULL AS has_terms
FROM turn t
LEFT JOIN turn_unit u ON u.tenant = %(tenant)s AND u.turn = t.id
     AND u.generation = %(generation)s::int
LEFT JOIN LATERAL (
    SELECT p.text, p.speaker, p.role FROM turn p
    WHERE p.tenant = %(tenant)s AND p.conversation = t.conversation AND p.position < t.position
      AND p.text <> '' AND p.state <> 'writing'
    ORDER BY p.position DESC LIMIT 1) AS b ON true
WHERE t.tenant = %(tenant)s AND t.conversation = %(conversation)s::uuid
  AND t.state <> 'writing' AND t.text <> ''
  AND (u.turn IS NULL OR (u.embedding IS NULL AND NOT u.given_up))
ORDER BY t.position
LIMIT %(limit)s

-- name: lacking_conversations
SELECT DISTINCT t.conversation
FROM turn t
WHERE t.tenant = %(tenant)s AND t.state <> 'writing' AND t.text <> ''
  AND NOT EXISTS (SELECT FROM turn_unit u
                  WHERE u.tenant = %(tenant)s AND u.turn = t.id
                    AND u.generation = %(generation)s::int
                    AND (u.embedding IS NOT NULL OR u.given_up))

-- name: put_unit
INSERT INTO turn_unit (tenant, turn, generation, principal, language, embedding, signs, given_up,
                       terms, grams)
SELECT %(tenant)s, t.id, %(generation)s::int, t.principal, %(language)s, %(embedding)s::halfvec,
       %(signs)s::bytea, %(given_up)s, %(terms)s::int[], %(grams)s::int[]
FROM turn t WHERE t.tenant = %(tenant)s AND t.id = %(id)s::uuid
FOR KEY SHARE
ON CONFLICT (tenant, turn, generation) DO UPDATE
SET language = excluded.language, embedding = excluded.embedding, signs = excluded.signs, given_up = excluded.given_up,
    terms = excluded.terms, grams = excluded.grams

-- name: units
SELECT x.* FROM (
    SELECT t.id, t.conversation, t.position, t.created_at, t.role, t.speaker, u.language,
           u.embedding, u.signs, u.terms, u.grams
    FROM turn_unit u
    JOIN turn t ON t.tenant = %(tenant)s AND t.id = u.turn AND t.principal = %(principal)s
    JOIN conversation c ON c.tenant = %(tenant)s AND c.id = t.conversation
         AND c.persona = %(persona)s
    WHERE u.tenant = %(tenant)s AND u.principal = %(principal)s
      AND u.generation = %(generation)s::int
    ORDER BY t.position DESC LIMIT %(limit)s) AS x
ORDER BY x.conversation, x.position

-- name: read_turns
SELECT id, position, role, speaker, text, state, reply_to, variant, language, used_chunks,
       used_memories, trace, created_at, zone
FROM turn
WHERE tenant = %(tenant)s AND principal = %(principal)s AND id = ANY (%(ids)s::uuid[])
