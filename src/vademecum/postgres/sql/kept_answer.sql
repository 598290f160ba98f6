-- name: look
SELECT pg_current_snapshot()::text AS moment,
       EXISTS (SELECT FROM memory m
               WHERE m.tenant = %(tenant)s AND m.principal = %(principal)s
                 AND m.state = 'active') AS personal,
       k.trace, k.body
FROM (SELECT) AS always
LEFT JOIN kept_answer k
    ON k.tenant = %(tenant)s AND k.principal = %(principal)s AND k.key = %(key)s
   AND k.expires_at > clock_timestamp() AND unchanged_since(k.moment)

-- name: keep
-- The trace may have gone meanwhile, or been emptied, with a document that it quotes or with its
-- conversation.
INSERT INTO kept_answer (tenant, principal, key, trace, body, moment, expires_at)
SELECT %(tenant)s, %(principal)s, %(key)s, t.id, %(body)s::jsonb, %(moment)s::pg_snapshot,
       clock_timestamp() + %(lasts)s::interval
FROM trace t
WHERE t.tenant = %(tenant)s AND t.id = %(trace)s::uuid AND t.record <> '{}'
FOR KEY SHARE
ON CONFLICT (tenant, principal, key) DO UPDATE
SET trace = excluded.trace, body = excluded.body, moment = excluded.moment,
    created_at = clock_timestamp(), expires_at = excluded.expires_at

-- name: bound
DELETE FROM kept_answer
WHERE tenant = %(tenant)s AND principal = %(principal)s
  AND (expires_at <= clock_timestamp() OR created_at <= (
        SELECT created_at FROM kept_answer
        WHERE tenant = %(tenant)s AND principal = %(principal)s
        ORDER BY created_at DESC OFFSET %(most)s::int LIMIT 1))

-- name: expired
DELETE FROM kept_answer WHERE tenant = %(tenant)s AND expires_at <= clock_timestamp()
RETURNING key
