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

-- name: look_near
SELECT private_collection(%(collections)s::text[]) AS private, n.trace, n.body
FROM (SELECT) AS always
LEFT JOIN LATERAL (
    SELECT s.trace, s.body, inner_product(s.vector, %(vector)s::halfvec) AS cosine
    FROM shared_answer s
    WHERE s.tenant = %(tenant)s AND s.key = %(key)s
      AND s.expires_at > clock_timestamp() AND unchanged_since(s.moment)
    ORDER BY cosine DESC
    LIMIT 1) AS n ON n.cosine >= %(least)s::float8

-- name: lapse_near
-- Of one question a few wordings stay, so that a look compares few vectors; and of these none that
-- would be given no more.
DELETE FROM shared_answer
WHERE tenant = %(tenant)s AND key = %(key)s
  AND (expires_at <= clock_timestamp() OR NOT unchanged_since(moment)
       OR id <= (SELECT id FROM shared_answer
                 WHERE tenant = %(tenant)s AND key = %(key)s
                 ORDER BY id DESC OFFSET %(wordings)s::int - 1 LIMIT 1))

-- name: keep_near
INSERT INTO shared_answer (tenant, principal, key, vector, trace, body, moment, expires_at)
SELECT %(tenant)s, %(principal)s, %(key)s, %(vector)s::halfvec, t.id, %(body)s::jsonb,
       %(moment)s::pg_snapshot, clock_timestamp() + %(lasts)s::interval
FROM trace t
WHERE t.tenant = %(tenant)s AND t.id = %(trace)s::uuid AND t.record <> '{}'
FOR KEY SHARE

-- name: bound_near
DELETE FROM shared_answer
WHERE tenant = %(tenant)s
  AND (expires_at <= clock_timestamp() OR created_at <= (
        SELECT created_at FROM shared_answer
        WHERE tenant = %(tenant)s
        ORDER BY created_at DESC OFFSET %(most)s::int LIMIT 1))

-- name: expired_near
DELETE FROM shared_answer WHERE tenant = %(tenant)s AND expires_at <= clock_timestamp()
RETURNING id
