-- name: waiting
SELECT c.id FROM conversation c
WHERE c.tenant = %(tenant)s AND c.saved_through > c.learned_through
  AND NOT EXISTS (SELECT FROM memory_off o
                  WHERE o.tenant = c.tenant AND o.principal = c.principal)
  AND c.last_at < now() - make_interval(secs => %(quiet)s::float8) AND c.learn_after <= now()
ORDER BY c.last_at
LIMIT %(limit)s

-- name: unlearned_conversation
SELECT c.principal, c.persona, c.learned_through, c.saved_through, c.learn_attempts
FROM conversation c
WHERE c.tenant = %(tenant)s AND c.id = %(id)s::uuid AND c.saved_through > c.learned_through
  AND NOT EXISTS (SELECT FROM memory_off o
                  WHERE o.tenant = c.tenant AND o.principal = c.principal)

-- name: unlearned_turns
-- The person's own words only: no answer, no summary.
SELECT t.id, t.position, t.role, t.speaker, t.text, t.state, t.reply_to, t.variant, t.language,
       t.used_chunks, t.used_memories, t.trace, t.created_at, t.zone,
       EXISTS (SELECT FROM memory_tombstone g
               WHERE g.tenant = %(tenant)s AND g.source_turn = t.id AND g.why = 'asked') AS forgotten
FROM turn t
WHERE t.tenant = %(tenant)s AND t.conversation = %(id)s::uuid AND t.role = 'user'
  AND t.position > %(after)s AND t.position <= %(through)s
ORDER BY t.position

-- name: learned
UPDATE conversation SET learned_through = greatest(learned_through, %(through)s),
       learn_attempts = 0, learn_after = '-infinity'
WHERE tenant = %(tenant)s AND id = %(id)s::uuid

-- name: put_off
UPDATE conversation SET learn_attempts = learn_attempts + 1,
       learn_after = now() + least(interval '1 hour', interval '15 seconds' * 2 ^ learn_attempts)
WHERE tenant = %(tenant)s AND id = %(id)s::uuid
