-- name: rescue
SELECT rescue_ingestion() + rescue_conversations() AS rescued

-- name: left
-- Of all tenants: a worker serves them all. What waits for another job of its lock waits longer.
SELECT EXISTS (
    SELECT FROM procrastinate_jobs j
    WHERE j.status = 'todo' AND j.queue_name = ANY (%(kinds)s::text[])
      AND (j.scheduled_at IS NULL OR j.scheduled_at <= now())
      AND NOT EXISTS (SELECT FROM procrastinate_jobs o
                      WHERE o.status = 'doing' AND o.lock = j.lock)) AS waiting

-- name: pending
SELECT d.id AS document, r.id AS revision, d.collection, d.uri, r.attempts, r.reason,
       r.accepted_at,
       CASE WHEN r.state = 'failed' THEN 'dead' WHEN r.lease_until > now() THEN 'working'
            ELSE 'waiting' END AS state
FROM revision r JOIN document d ON d.tenant = r.tenant AND d.id = r.document
WHERE r.tenant = %(tenant)s AND r.state IN ('accepted', 'failed')
  AND (r.state = 'accepted' OR NOT EXISTS (
      SELECT FROM revision n
      WHERE n.tenant = r.tenant AND n.document = r.document AND n.number > r.number))
  AND (%(collections)s::text[] IS NULL OR d.collection = ANY (%(collections)s::text[]))
ORDER BY r.accepted_at, r.id

-- name: to_retry
-- Each document's newest revision, where it failed or is whole only in part. The lock is the one
-- that every write of a document takes first.
SELECT d.id AS document
FROM document d JOIN revision r ON r.tenant = d.tenant AND r.document = d.id
WHERE d.tenant = %(tenant)s AND r.state IN ('failed', 'partial')
  AND (%(id)s::uuid IS NULL OR d.id = %(id)s::uuid)
  AND (%(collections)s::text[] IS NULL OR d.collection = ANY (%(collections)s::text[]))
  AND NOT EXISTS (
      SELECT FROM revision n
      WHERE n.tenant = r.tenant AND n.document = r.document AND n.number > r.number)
ORDER BY d.id
FOR UPDATE OF d

-- name: add_retry
INSERT INTO revision (tenant, id, document, number, state, blob, content_hash, fingerprint,
                      asked_title, asked_language, asked_chunker, effective_from,
                      effective_until, ingested_by)
SELECT r.tenant, %(revision)s::uuid, r.document, r.number + 1, 'accepted', r.blob,
       r.content_hash, r.fingerprint, r.asked_title, r.asked_language, r.asked_chunker,
       r.effective_from, r.effective_until, %(principal)s
FROM revision r
WHERE r.tenant = %(tenant)s AND r.document = %(document)s::uuid
  AND r.state IN ('failed', 'partial')
ORDER BY r.number DESC LIMIT 1

-- name: enqueue_ingestion
SELECT enqueue_ingestion(%(revision)s::uuid)

-- name: to_divide
-- Documents of a collection whose newest revision was read otherwise than is asked for now. The
-- lock is the one that every write of a document takes first.
SELECT d.id AS document
FROM document d JOIN revision r ON r.tenant = d.tenant AND r.document = d.id
WHERE d.tenant = %(tenant)s AND d.collection = %(collection)s AND r.state IN ('ready', 'partial')
  AND (r.fingerprint, r.asked_chunker) IS DISTINCT FROM (%(fingerprint)s, %(chunker)s::text)
  AND NOT EXISTS (
      SELECT FROM revision n
      WHERE n.tenant = r.tenant AND n.document = r.document AND n.number > r.number)
ORDER BY d.id
LIMIT %(limit)s::int
FOR UPDATE OF d

-- name: add_divided
INSERT INTO revision (tenant, id, document, number, state, blob, content_hash, fingerprint,
                      asked_title, asked_language, asked_chunker, effective_from,
                      effective_until, ingested_by)
SELECT r.tenant, %(revision)s::uuid, r.document, r.number + 1, 'accepted', r.blob,
       r.content_hash, %(fingerprint)s, r.asked_title, r.asked_language, %(chunker)s::text,
       r.effective_from, r.effective_until, r.ingested_by
FROM revision r
WHERE r.tenant = %(tenant)s AND r.document = %(document)s::uuid
ORDER BY r.number DESC LIMIT 1
