-- name: claim_revision
UPDATE revision r
SET claim = %(token)s::uuid, lease_until = now() + make_interval(secs => %(seconds)s),
    attempts = attempts + 1
FROM document d
WHERE r.tenant = %(tenant)s AND r.id = %(id)s::uuid AND r.state = 'accepted'
  AND (r.lease_until IS NULL OR r.lease_until < now())
  AND d.tenant = r.tenant AND d.id = r.document
RETURNING r.document, r.lease_until, r.blob, r.asked_title, r.asked_language, r.attempts, d.uri

-- name: extend_claim
UPDATE revision SET lease_until = now() + make_interval(secs => %(seconds)s)
WHERE tenant = %(tenant)s AND id = %(id)s::uuid AND claim = %(token)s::uuid
  AND state = 'accepted' AND lease_until >= now()
RETURNING lease_until

-- name: known_vectors
SELECT text_hash, embedding
FROM current_vectors(%(document)s::uuid, %(generation)s::int)
WHERE text_hash = ANY (%(hashes)s::text[])

-- name: finish_revision
-- The fence: a worker whose lease another took changes nothing.
UPDATE revision
SET state = %(state)s, reason = %(reason)s, title = %(title)s, language = %(language)s,
    media_type = %(media_type)s, text = %(text)s, page_starts = %(page_starts)s::int[],
    warnings = %(warnings)s::text[], chunks = %(chunks)s, new_chunks = %(new_chunks)s,
    embedded = %(embedded)s, lease_until = NULL, claim = NULL, published_at = now()
WHERE tenant = %(tenant)s AND id = %(id)s::uuid AND claim = %(token)s::uuid AND state = 'accepted'
RETURNING number

-- name: lock_document
-- Every write of a document takes this lock first. What depends on it is read afterwards.
SELECT id FROM document WHERE tenant = %(tenant)s AND id = %(document)s::uuid FOR UPDATE

-- name: current_number
-- A newer revision may have been published while this one was being read; it wins.
SELECT r.number
FROM document d JOIN revision r ON r.tenant = d.tenant AND r.id = d.current_revision
WHERE d.tenant = %(tenant)s AND d.id = %(document)s::uuid

-- name: retire_chunks
DELETE FROM chunk
WHERE tenant = %(tenant)s AND document = %(document)s::uuid AND revision <> %(revision)s::uuid

-- name: insert_chunk
INSERT INTO chunk (tenant, id, document, revision, ordinal, start_offset, end_offset, tokens,
                   heading_path, page_start, page_end, page_breaks, language, text, context,
                   text_hash)
VALUES (%(tenant)s, %(id)s::uuid, %(document)s::uuid, %(revision)s::uuid, %(ordinal)s, %(start)s,
        %(end)s, %(tokens)s, %(heading_path)s::text[], %(page_start)s, %(page_end)s,
        %(page_breaks)s::int[], %(language)s,
        %(text)s, %(context)s, %(text_hash)s)

-- name: index_chunk
SELECT index_chunk(%(id)s::uuid, %(generation)s::int, %(embedding)s::halfvec,
                   %(terms)s::int[], %(weights)s::sparsevec)

-- name: set_current
UPDATE document
SET current_revision = %(revision)s::uuid, title = %(title)s, language = %(language)s,
    updated_at = now()
WHERE tenant = %(tenant)s AND id = %(document)s::uuid
