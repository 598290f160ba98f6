-- name: add_change
INSERT INTO change_event (tenant, kind, document, revision)
VALUES (%(tenant)s, %(kind)s, %(document)s::uuid, %(revision)s::uuid)

-- name: changes_after
-- Below the oldest transaction that still runs nothing can come to light any more.
SELECT xid::text::bigint AS xid, id, kind, document, revision, occurred_at
FROM change_event
WHERE tenant = %(tenant)s
  AND (xid, id) > ((%(xid)s::bigint)::text::xid8, %(after)s::bigint)
  AND xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY xid, id
LIMIT %(limit)s

-- name: forget_changes
DELETE FROM change_event
WHERE tenant = %(tenant)s AND occurred_at < %(before)s
  AND xid < pg_snapshot_xmin(pg_current_snapshot())
RETURNING id
