-- name: claim
-- Whoever comes first, after a day or after one that died works on it; the others read.
INSERT INTO first_answer (tenant, principal, id, fence, lease_until)
VALUES (%(tenant)s, %(principal)s, %(id)s, %(fence)s::uuid,
        clock_timestamp() + %(lasts)s::interval)
ON CONFLICT (tenant, principal, id) DO UPDATE
SET fence = EXCLUDED.fence, lease_until = EXCLUDED.lease_until, created_at = clock_timestamp(),
    asked = NULL, status = NULL, media_type = NULL, body = NULL, mentions = '{}'
WHERE (first_answer.status IS NULL AND first_answer.lease_until < clock_timestamp())
   OR first_answer.created_at < clock_timestamp() - %(keeps)s::interval
RETURNING fence

-- name: kept
SELECT asked, status, media_type, body
FROM first_answer
WHERE tenant = %(tenant)s AND principal = %(principal)s AND id = %(id)s AND status IS NOT NULL

-- name: renew
UPDATE first_answer SET lease_until = clock_timestamp() + %(lasts)s::interval
WHERE tenant = %(tenant)s AND principal = %(principal)s AND id = %(id)s AND fence = %(fence)s::uuid

-- name: keep
UPDATE first_answer
SET asked = %(asked)s, status = %(status)s::int, media_type = %(media_type)s, body = %(body)s,
    mentions = %(mentions)s::uuid[]
WHERE tenant = %(tenant)s AND principal = %(principal)s AND id = %(id)s AND fence = %(fence)s::uuid

-- name: trim
DELETE FROM first_answer
WHERE tenant = %(tenant)s AND principal = %(principal)s AND id IN (
    SELECT id FROM first_answer
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND status IS NOT NULL
    ORDER BY created_at DESC OFFSET %(most)s::int)

-- name: release
DELETE FROM first_answer
WHERE tenant = %(tenant)s AND principal = %(principal)s AND id = %(id)s AND fence = %(fence)s::uuid
  AND status IS NULL

-- name: let_go
DELETE FROM first_answer
WHERE tenant = %(tenant)s AND created_at < clock_timestamp() - %(keeps)s::interval
RETURNING id
