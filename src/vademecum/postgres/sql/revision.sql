-- name: claim_revision
UPDATE revision r
SET claim = %(token)s::uuid, lease_until = now() + make_interval(secs => %(seconds)s),
    attempts = attempts + 1
FROM document d
WHERE r.tenant = %(tenant)s AND r.id = %(id)s::uuid AND r.state = 'accepted'
  AND (r.lease_until IS NULL OR r.lease_until < now())
  AND d.tenant = r.tenant AND d.id = r.document
RETURNING r.document, r.lease_until, r.blob, r.asked_title, r.asked_language, r.asked_chunker,
          r.attempts, d.collection, d.uri

-- name: extend_claim
UPDATE revision SET lease_until = now() + make_interval(secs => %(seconds)s)
WHERE tenant = %(tenant)s AND id = %(id)s::uuid AND claim = %(token)s::uuid
  AND state = 'accepted' AND lease_until >= now()
RETURNING lease_until

-- name: release_claim
-- Whoever is told to end has not failed.
UPDATE revision SET claim = NULL, lease_until = NULL, attempts = attempts - 1
WHERE tenant = %(tenant)s AND id = %(id)s::uuid AND claim = %(token)s::uuid
  AND state = 'accepted'

-- name: known_vectors
SELECT text_hash, embedding, signs
FROM known_vectors(%(generation)s::int, %(hashes)s::text[])

-- name: finish_revision
-- The fence: a worker whose lease another took changes nothing.
UPDATE revision
SET state = %(state)s, reason = %(reason)s, title = %(title)s, language = %(language)s,
    media_type = %(media_type)s, text = %(text)s, page_starts = %(page_starts)s::int[],
    warnings = %(warnings)s::text[], unread = %(unread)s::text[],
    found_metadata = %(found_metadata)s::jsonb,
    effective_from = coalesce(effective_from,
                              (%(found_metadata)s::jsonb ->> 'effective_from')::date),
    effective_until = coalesce(effective_until,
                               (%(found_metadata)s::jsonb ->> 'effective_until')::date),
    chunks = %(chunks)s, new_chunks = %(new_chunks)s, embedded = %(embedded)s,
    lease_until = NULL, claim = NULL, published_at = now()
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

-- name: set_current
UPDATE document
SET current_revision = %(revision)s::uuid, title = %(title)s, language = %(language)s,
    metadata = %(found_metadata)s::jsonb || given_metadata, updated_at = now()
WHERE tenant = %(tenant)s AND id = %(document)s::uuid

-- name: begin_force
-- From now on it has a place among those that are, were or will be in force.
UPDATE revision SET valid_from = now(), valid_until = 'infinity'
WHERE tenant = %(tenant)s AND id = %(revision)s::uuid

-- name: set_validity
SELECT set_validity(%(document)s::uuid)

-- name: insert_chunks
-- A JSON array, since arrays of arrays must all be of one length.
INSERT INTO chunk (tenant, id, document, revision, ordinal, start_offset, end_offset, tokens,
                   heading_path, page_start, page_end, page_breaks, language, text, context,
                   section_start, section_end, text_hash, unembedded, given_up)
SELECT %(tenant)s, c.id, %(document)s::uuid, %(revision)s::uuid, c.ordinal, c.start_offset,
       c.end_offset, c.tokens, c.heading_path, c.page_start, c.page_end, c.page_breaks,
       c.language, c.text, c.context, c.section_start, c.section_end, c.text_hash, c.unembedded,
       CASE WHEN c.unembedded IS NULL THEN '{}' ELSE ARRAY[%(generation)s::int] END
FROM jsonb_to_recordset(%(chunks)s::jsonb) AS c (
    id uuid, ordinal int, start_offset int, end_offset int, tokens int, heading_path text[],
    page_start int, page_end int, page_breaks int[], language text, text text, context text,
    section_start int, section_end int, text_hash text, unembedded text)

-- name: hold_generation
SELECT hold_generation(%(generation)s::int) AS held

-- name: index_vectors
-- Both in binary: as text they would cost more than all else of a row.
SELECT index_vectors(%(generation)s::int, %(chunks)s::uuid[], %(embeddings)b::halfvec[],
                     %(signs)b::bytea[])

-- name: index_terms
SELECT index_terms(%(generation)s::int, %(chunks)s::uuid[], %(terms)s::text[],
                   %(weights)b::sparsevec[])
