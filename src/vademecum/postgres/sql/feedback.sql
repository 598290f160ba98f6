-- name: give
-- One person has one word on one answer: the last.
INSERT INTO feedback (tenant, id, principal, trace, verdict, reason, note)
SELECT %(tenant)s, %(id)s::uuid, %(principal)s, t.id, %(verdict)s, %(reason)s, %(note)s
FROM trace t
WHERE t.tenant = %(tenant)s AND t.id = %(trace)s::uuid
ON CONFLICT (tenant, principal, trace) DO UPDATE
    SET verdict = excluded.verdict, reason = excluded.reason, note = excluded.note,
        created_at = clock_timestamp()
RETURNING id, principal, trace, verdict, reason, note, created_at

-- name: feedback
-- The newest first, behind the one named.
SELECT id, principal, trace, verdict, reason, note, created_at
FROM feedback f
WHERE f.tenant = %(tenant)s
  AND (%(id)s::uuid IS NULL OR f.id = %(id)s::uuid)
  AND (%(verdict)s::text IS NULL OR f.verdict = %(verdict)s)
ORDER BY created_at DESC, id
LIMIT %(limit)s::int
