-- name: insert
INSERT INTO api_key (tenant, id, kind, principal, labels, scopes, digest, parent, expires_at)
VALUES (%(tenant)s, %(id)s::uuid, %(kind)s, %(principal)s, %(labels)s::text[], %(scopes)s::text[],
        %(digest)s, %(parent)s::uuid, %(expires_at)s::timestamptz)
RETURNING created_at

-- name: keys
SELECT id, kind, principal, labels, scopes, created_at, expires_at, revoked_at, used_at
FROM api_key
WHERE tenant = %(tenant)s AND (%(kind)s::text IS NULL OR kind = %(kind)s)
ORDER BY created_at, id

-- name: revoke
-- What hangs on it is dead with it. Revoking twice keeps the first moment.
UPDATE api_key SET revoked_at = coalesce(revoked_at, clock_timestamp())
WHERE tenant = %(tenant)s AND id = %(id)s::uuid
RETURNING id, kind, principal, labels, scopes, created_at, expires_at, revoked_at, used_at

-- name: admit
SELECT tenant, kind, principal, labels, scopes, expires_at, wait
FROM admit(%(id)s::uuid, %(digest)s, %(rate)s::text, %(spacing)s::interval, %(burst)s::int)

-- name: let_go
-- Sessions that are over, and what is revoked for longer than anybody asks.
DELETE FROM api_key
WHERE tenant = %(tenant)s AND kind = 'session'
  AND (expires_at < clock_timestamp() OR revoked_at IS NOT NULL)
RETURNING id

-- name: lock_first
SELECT pg_advisory_xact_lock(hashtext('vademecum first key'), hashtext(%(tenant)s))

-- name: living_admin
SELECT id FROM api_key
WHERE tenant = %(tenant)s AND kind = 'key' AND scopes @> ARRAY['admin']::text[]
  AND revoked_at IS NULL AND coalesce(expires_at, 'infinity') > clock_timestamp()
LIMIT 1
