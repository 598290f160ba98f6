-- name: begin
INSERT INTO erasure (tenant, id, subject)
VALUES (%(tenant)s, %(id)s::uuid, %(subject)s)
RETURNING requested_at

-- name: settle
UPDATE erasure
SET blobs_left = %(blobs)s::text[],
    completed_at = CASE WHEN %(blobs)s::text[] = '{}' THEN clock_timestamp() END
WHERE tenant = %(tenant)s AND id = %(id)s::uuid

-- name: ledger
SELECT tenant, id, subject, requested_at, completed_at, blobs_left
FROM erasure
WHERE tenant = %(tenant)s AND (NOT %(open_only)s OR completed_at IS NULL)
ORDER BY requested_at, id

-- name: restore
INSERT INTO erasure (tenant, id, subject, requested_at)
VALUES (%(tenant)s, %(id)s::uuid, %(subject)s, %(requested_at)s)
ON CONFLICT (tenant, id) DO UPDATE SET completed_at = NULL

-- name: held
SELECT store, held FROM person_rows(%(principal)s, %(until)s::timestamptz)

-- name: erase
SELECT erase_person(%(principal)s, %(until)s::timestamptz)

-- name: timeless
SELECT name FROM person_tables() WHERE made IS NULL

-- name: names
SELECT DISTINCT name FROM person_names() AS name

-- name: private_documents
SELECT d.id
FROM document d JOIN access_set s ON s.tenant = d.tenant AND s.id = d.access_set
WHERE d.tenant = %(tenant)s AND s.labels = ARRAY[%(principal)s]::text[]
  AND (%(until)s::timestamptz IS NULL OR d.created_at <= %(until)s::timestamptz)
ORDER BY d.id

-- name: named_access_sets
SELECT id, labels FROM access_set
WHERE tenant = %(tenant)s AND labels @> ARRAY[%(principal)s]::text[]
  AND NOT EXISTS (SELECT FROM document d
                  WHERE d.tenant = %(tenant)s AND d.access_set = access_set.id
                    AND d.created_at > %(until)s::timestamptz)

-- name: rename_access_set
-- Documents that others see too stay as they are, but for the name.
UPDATE access_set
SET labels = array_replace(labels, %(principal)s, %(erased)s),
    labels_key = %(labels_key)s
WHERE tenant = %(tenant)s AND id = %(id)s::int

-- name: rename_ingested_by
UPDATE revision SET ingested_by = %(erased)s
WHERE tenant = %(tenant)s AND ingested_by = %(principal)s
  AND (%(until)s::timestamptz IS NULL OR accepted_at <= %(until)s::timestamptz)
RETURNING id

-- name: scrubbed
SELECT note_scrubbed()

-- name: note_deleted
INSERT INTO deletion (tenant, kind, id, deleted_at)
SELECT %(tenant)s, e.kind, e.id, e.moment
FROM unnest(%(kinds)s::text[], %(ids)s::uuid[], %(moments)s::timestamptz[]) AS e (kind, id, moment)
ON CONFLICT DO NOTHING

-- name: delete_memories_again
WITH gone AS (
    DELETE FROM memory m
    WHERE m.tenant = %(tenant)s AND m.id = ANY (%(memories)s::uuid[])
    RETURNING m.tenant, m.id, m.principal, m.source_turn
)
INSERT INTO memory_tombstone (tenant, memory, principal, source_turn, why)
SELECT g.tenant, g.id, g.principal, g.source_turn, 'asked' FROM gone g
RETURNING memory

-- name: bury_turns_again
INSERT INTO memory_tombstone (tenant, memory, principal, source_turn, why)
SELECT t.tenant, gen_random_uuid(), t.principal, t.id, 'asked'
FROM turn t
WHERE t.tenant = %(tenant)s AND t.id = ANY (%(turns)s::uuid[])
  AND NOT EXISTS (SELECT FROM memory_tombstone g
                  WHERE g.tenant = %(tenant)s AND g.source_turn = t.id)

-- name: documents_of
SELECT id FROM document
WHERE tenant = %(tenant)s AND id = ANY (%(documents)s::uuid[])
ORDER BY id

-- name: conversations_of
SELECT id, principal FROM conversation
WHERE tenant = %(tenant)s AND id = ANY (%(conversations)s::uuid[])
ORDER BY id

-- name: let_go_deletions
DELETE FROM deletion WHERE tenant = %(tenant)s AND deleted_at < %(before)s
RETURNING id
