-- name: holds_data
SELECT EXISTS (SELECT FROM tenant) OR EXISTS (SELECT FROM api_key) AS held

-- name: erasures
SELECT tenant, id, subject, requested_at FROM erasure ORDER BY requested_at, id

-- name: deletions
SELECT tenant, kind, id, deleted_at FROM deletion ORDER BY deleted_at, id

-- name: revoked
SELECT tenant, id FROM api_key WHERE revoked_at IS NOT NULL AND kind = 'key' ORDER BY id

-- name: end_sessions
DELETE FROM api_key WHERE kind = 'session'

-- name: forget_answers
-- Their moments are another server's: nothing tells what has changed since.
WITH shared AS (DELETE FROM shared_answer)
DELETE FROM kept_answer

-- name: end_keys
UPDATE api_key SET revoked_at = clock_timestamp()
WHERE revoked_at IS NULL AND (%(ids)s::uuid[] IS NULL OR id = ANY (%(ids)s::uuid[]))
RETURNING id

-- name: all_tenants
SELECT id AS tenant FROM tenant UNION SELECT tenant FROM erasure UNION SELECT tenant FROM api_key
ORDER BY tenant

-- name: others
SELECT pid FROM pg_stat_activity WHERE datname = %(name)s AND pid <> pg_backend_pid()
