-- name: lock_document
-- What depends on the lock is read by the next query: a query that waited for a lock still sees
-- other rows as they were before it waited.
SELECT id, access_set, given_metadata = %(metadata)s::jsonb AS same_metadata
FROM document
WHERE tenant = %(tenant)s AND collection = %(collection)s
  AND md5(uri) = md5(%(uri)s) AND uri = %(uri)s
FOR UPDATE

-- name: newest_revision
-- It tells whether the bytes and settings are known already.
SELECT id, number, state,
       content_hash = %(content_hash)s AND fingerprint = %(fingerprint)s
       AND asked_title IS NOT DISTINCT FROM %(asked_title)s::text
       AND asked_language IS NOT DISTINCT FROM %(asked_language)s::text
       AND asked_chunker IS NOT DISTINCT FROM %(asked_chunker)s::text AS same
FROM revision
WHERE tenant = %(tenant)s AND document = %(document)s::uuid
ORDER BY number DESC
LIMIT 1

-- name: known
-- What `accept` would find and leave as it is.
SELECT d.id AS document, r.id AS revision
FROM document d
CROSS JOIN LATERAL (
    SELECT n.id, n.state, n.content_hash, n.fingerprint, n.asked_title, n.asked_language,
           n.asked_chunker
    FROM revision n
    WHERE n.tenant = d.tenant AND n.document = d.id
    ORDER BY n.number DESC LIMIT 1) AS r
JOIN access_set a ON a.tenant = d.tenant AND a.id = d.access_set
WHERE d.tenant = %(tenant)s AND d.collection = %(collection)s
  AND md5(d.uri) = md5(%(uri)s) AND d.uri = %(uri)s
  AND d.given_metadata = %(metadata)s::jsonb AND a.labels_key = %(labels_key)s
  AND r.state NOT IN ('accepted', 'failed')
  AND r.content_hash = %(content_hash)s AND r.fingerprint = %(fingerprint)s
  AND r.asked_title IS NOT DISTINCT FROM %(asked_title)s::text
  AND r.asked_language IS NOT DISTINCT FROM %(asked_language)s::text
  AND r.asked_chunker IS NOT DISTINCT FROM %(asked_chunker)s::text

-- name: insert_access_set
INSERT INTO access_set (tenant, labels, labels_key)
VALUES (%(tenant)s, %(labels)s::text[], %(labels_key)s)
ON CONFLICT (tenant, labels_key) DO NOTHING

-- name: get_access_set
SELECT id FROM access_set WHERE tenant = %(tenant)s AND labels_key = %(labels_key)s

-- name: insert_document
INSERT INTO document (tenant, id, collection, uri, title, access_set, metadata, given_metadata,
                      language)
VALUES (%(tenant)s, %(id)s::uuid, %(collection)s, %(uri)s, %(title)s, %(access_set)s,
        %(metadata)s::jsonb, %(metadata)s::jsonb, %(language)s)
ON CONFLICT (tenant, collection, md5(uri)) DO NOTHING

-- name: update_document_facts
-- What the document says of itself stands under what its caller says of it.
UPDATE document d
SET access_set = %(access_set)s, given_metadata = %(metadata)s::jsonb, updated_at = now(),
    metadata = coalesce((SELECT r.found_metadata FROM revision r
                         WHERE r.tenant = %(tenant)s AND r.id = d.current_revision), '{}')
               || %(metadata)s::jsonb
WHERE d.tenant = %(tenant)s AND d.id = %(id)s::uuid

-- name: update_effective_days
-- They are of the revision that is newest, or, where that one could not be read, of the current.
UPDATE revision r
SET effective_from = coalesce(%(effective_from)s::date,
                              (r.found_metadata ->> 'effective_from')::date),
    effective_until = coalesce(%(effective_until)s::date,
                               (r.found_metadata ->> 'effective_until')::date)
FROM document d
WHERE d.tenant = %(tenant)s AND d.id = %(id)s::uuid AND r.tenant = d.tenant
  AND r.id = coalesce((SELECT n.id FROM revision n
                       WHERE n.tenant = d.tenant AND n.document = d.id AND n.state = 'accepted'
                       ORDER BY n.number DESC LIMIT 1), d.current_revision)

-- name: set_version
UPDATE document SET version = %(version)s::bigint
WHERE tenant = %(tenant)s AND id = %(id)s::uuid

-- name: set_validity
SELECT set_validity(%(id)s::uuid)

-- name: move_index_access
SELECT index_access(%(id)s::uuid, %(access_set)s::int)

-- name: insert_revision
INSERT INTO revision (tenant, id, document, number, state, blob, content_hash, fingerprint,
                      asked_title, asked_language, asked_chunker, effective_from,
                      effective_until, ingested_by)
VALUES (%(tenant)s, %(id)s::uuid, %(document)s::uuid, %(number)s, 'accepted', %(content_hash)s,
        %(content_hash)s, %(fingerprint)s, %(asked_title)s, %(asked_language)s,
        %(asked_chunker)s, %(effective_from)s::date, %(effective_until)s::date, %(ingested_by)s)

-- name: enqueue_ingestion
SELECT enqueue_ingestion(%(id)s::uuid)

-- name: name_blob
-- Held until the end of the transaction, so that nobody deletes these bytes meanwhile.
SELECT pg_advisory_xact_lock_shared(hashtextextended(%(tenant)s || %(content_hash)s, 0))

-- name: waiting
-- No more than a limit is counted.
SELECT count(*) AS waiting
FROM (SELECT FROM revision WHERE tenant = %(tenant)s AND state = 'accepted' LIMIT %(limit)s) AS w

-- name: take_version
-- A version that is not newer than the known one changes nothing and returns nothing.
INSERT INTO source_version (tenant, key, version, deleted)
VALUES (%(tenant)s, %(key)s, %(version)s, false)
ON CONFLICT (tenant, key) DO UPDATE
    SET version = excluded.version, deleted = false, changed_at = now()
    WHERE source_version.tenant = excluded.tenant AND source_version.version < excluded.version
RETURNING version

-- name: end_version
-- A deletion beats an equal version.
INSERT INTO source_version (tenant, key, version, deleted)
VALUES (%(tenant)s, %(key)s, %(version)s, true)
ON CONFLICT (tenant, key) DO UPDATE
    SET version = excluded.version, deleted = true, changed_at = now()
    WHERE source_version.tenant = excluded.tenant AND source_version.version <= excluded.version
RETURNING version

-- name: known_version
SELECT version FROM source_version WHERE tenant = %(tenant)s AND key = %(key)s

-- name: find_document
SELECT id FROM document
WHERE tenant = %(tenant)s AND collection = %(collection)s
  AND md5(uri) = md5(%(uri)s) AND uri = %(uri)s
