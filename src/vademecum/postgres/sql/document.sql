-- name: results
SELECT r.id AS revision, r.document, d.uri, r.title, r.asked_title, r.state, r.reason, r.number,
       r.chunks, r.new_chunks, r.embedded, r.language, r.warnings
FROM revision r JOIN document d ON d.tenant = r.tenant AND d.id = r.document
WHERE r.tenant = %(tenant)s AND r.id = ANY (%(ids)s::uuid[])

-- name: list_documents
SELECT d.id, d.collection, d.uri, d.title, s.labels, d.metadata, d.language, r.state, r.reason,
       r.number, r.media_type, r.warnings, r.content_hash, r.fingerprint, r.ingested_by,
       nullif(c.valid_from, '-infinity') AS valid_from,
       nullif(c.valid_until, 'infinity') AS valid_until,
       d.created_at, d.updated_at, coalesce(c.chunks, 0) AS chunks
FROM document d
JOIN access_set s ON s.tenant = d.tenant AND s.id = d.access_set
JOIN LATERAL (
    SELECT r.state, r.reason, r.number, r.media_type, r.warnings, r.content_hash, r.fingerprint,
           r.ingested_by
    FROM revision r
    WHERE r.tenant = d.tenant AND r.document = d.id
    ORDER BY r.number DESC LIMIT 1
) r ON true
LEFT JOIN revision c ON c.tenant = d.tenant AND c.id = d.current_revision
WHERE d.tenant = %(tenant)s
  AND (%(id)s::uuid IS NULL OR d.id = %(id)s::uuid)
  AND (%(collections)s::text[] IS NULL OR d.collection = ANY (%(collections)s::text[]))
  AND (%(collection)s::text IS NULL OR d.collection = %(collection)s)
  AND (%(after_uri)s::text IS NULL
       OR (d.collection, d.uri) > (%(after_collection)s::text, %(after_uri)s::text))
  AND (%(state)s::text IS NULL OR r.state = %(state)s)
  AND (%(wanted)s::text IS NULL OR strpos(lower(d.title || ' ' || d.uri), lower(%(wanted)s)) > 0)
ORDER BY d.collection, d.uri
LIMIT %(limit)s::int

-- name: collections
-- Those of which somebody sees a document, with how many of them.
SELECT d.collection, count(*) AS documents
FROM document d
WHERE d.tenant = %(tenant)s
  AND (%(collections)s::text[] IS NULL OR d.collection = ANY (%(collections)s::text[]))
GROUP BY d.collection ORDER BY d.collection

-- name: text
-- Of the newest revision that was read, or of the one in force at the end of a day.
SELECT r.text
FROM document d JOIN revision r ON r.tenant = d.tenant AND r.document = d.id
WHERE d.tenant = %(tenant)s AND d.id = %(id)s::uuid
  AND CASE WHEN %(as_of)s::date IS NULL THEN r.id = d.current_revision
           ELSE r.valid_from <= moment_of(%(as_of)s::date)
                AND r.valid_until > moment_of(%(as_of)s::date) END

-- name: revision_text
-- Of one revision that was read and is still kept.
SELECT r.text
FROM document d JOIN revision r ON r.tenant = d.tenant AND r.document = d.id
WHERE d.tenant = %(tenant)s AND d.id = %(id)s::uuid AND r.number = %(number)s::int
  AND r.state IN ('ready', 'partial')

-- name: list_chunks
SELECT c.id, c.ordinal, c.start_offset, c.end_offset, c.tokens, c.heading_path, c.page_start,
       c.page_end, c.page_breaks, c.language, c.text, c.context, c.section_start, c.section_end
FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.current_revision = c.revision
WHERE c.tenant = %(tenant)s AND c.document = %(id)s::uuid
ORDER BY c.ordinal

-- name: some_texts
-- In an order that says nothing about them, and is the same again.
SELECT c.text
FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.current_revision = c.revision
WHERE c.tenant = %(tenant)s
ORDER BY hashtext(c.id::text), c.id
LIMIT %(limit)s::int

-- name: history
SELECT r.id, r.number, r.state, r.reason, r.content_hash, r.ingested_by, r.accepted_at,
       r.published_at, nullif(r.valid_from, '-infinity') AS valid_from,
       nullif(r.valid_until, 'infinity') AS valid_until,
       d.current_revision IS NOT DISTINCT FROM r.id AS current
FROM revision r JOIN document d ON d.tenant = r.tenant AND d.id = r.document
WHERE r.tenant = %(tenant)s AND r.document = %(id)s::uuid
ORDER BY r.number

-- name: confirm
SELECT c.id, c.ordinal, c.start_offset, c.end_offset, c.tokens, c.heading_path, c.page_start,
       c.page_end, c.page_breaks, c.language, c.text, c.context, c.section_start, c.section_end,
       d.id AS document, d.uri, r.title, d.collection, r.number,
       -- One without a first day holds since ever: since we have it, for a person.
       CASE WHEN isfinite(r.valid_from) THEN r.valid_from
            ELSE coalesce(r.published_at, r.accepted_at) END AS since,
       -- Of a revision of before: what it said of itself, and its own days in force.
       (r.found_metadata || d.given_metadata - ARRAY['effective_from', 'effective_until'])
           || jsonb_strip_nulls(jsonb_build_object('effective_from', r.effective_from,
                                                   'effective_until', r.effective_until))
           AS metadata
FROM chunk c
JOIN revision r ON r.tenant = c.tenant AND r.id = c.revision
JOIN document d ON d.tenant = c.tenant AND d.id = c.document
WHERE c.tenant = %(tenant)s AND c.id = ANY (%(ids)s::uuid[])
  AND d.access_set = ANY ((SELECT visible_access_sets())::int[])
  -- In queries of their own, or the function is called twice a chunk, which took nine tenths of it.
  AND r.valid_from <= (SELECT moment_of(%(as_of)s::date))
  AND r.valid_until > (SELECT moment_of(%(as_of)s::date))
  AND (%(collections)s::text[] IS NULL OR d.collection = ANY (%(collections)s::text[]))

-- name: sections
-- Of chunks that are confirmed already: the section of each, as a slice of its own revision's text,
-- with the context and the headings of its first chunk, since they are those of its beginning.
SELECT c.id, substr(r.text, c.section_start + 1, c.section_end - c.section_start) AS text,
       r.page_starts, s.tokens, s.context, s.heading_path
FROM chunk c
JOIN revision r ON r.tenant = %(tenant)s AND r.id = c.revision
CROSS JOIN LATERAL (
    SELECT sum(p.tokens)::int AS tokens,
           (array_agg(p.context ORDER BY p.ordinal))[1] AS context,
           (array_agg(to_jsonb(p.heading_path) ORDER BY p.ordinal))[1] AS heading_path
    FROM chunk p
    WHERE p.tenant = %(tenant)s AND p.revision = c.revision AND p.section_start = c.section_start
) s
WHERE c.tenant = %(tenant)s AND c.id = ANY (%(ids)s::uuid[]) AND c.section_start IS NOT NULL

-- name: lock_for_delete
SELECT id FROM document
WHERE tenant = %(tenant)s AND id = %(id)s::uuid
  AND (%(collections)s::text[] IS NULL OR collection = ANY (%(collections)s::text[]))
FOR UPDATE

-- name: count_rows
SELECT (SELECT count(*) FROM revision r
        WHERE r.tenant = %(tenant)s AND r.document = %(id)s::uuid) AS revisions,
       (SELECT count(*) FROM chunk c
        WHERE c.tenant = %(tenant)s AND c.document = %(id)s::uuid) AS chunks,
       i.vectors, i.keywords
FROM index_rows(%(id)s::uuid) AS i

-- name: see_all_records
SELECT set_config('vademecum.operator', 'on', true)

-- name: count_traces
SELECT count(*) AS traces FROM trace
WHERE tenant = %(tenant)s AND documents @> ARRAY[%(id)s::uuid]

-- name: count_quoting_turns
SELECT count(*) AS turns FROM turn
WHERE tenant = %(tenant)s AND documents @> ARRAY[%(id)s::uuid]

-- name: forget_what_follows
-- What was made from an answer that quotes the document goes before it: a summary is made again
-- from the turns that stay, and so are the index rows, which hold the turn before theirs too.
WITH told AS (
    UPDATE conversation c
    SET summary = '', summary_through = 0, summary_version = c.summary_version + 1,
        tended_through = 0
    WHERE c.tenant = %(tenant)s AND EXISTS (
        SELECT FROM turn t
        WHERE t.tenant = %(tenant)s AND t.conversation = c.id
          AND t.documents @> ARRAY[%(id)s::uuid])
    RETURNING c.id
)
DELETE FROM turn_unit u USING turn t, told
WHERE u.tenant = %(tenant)s AND t.tenant = %(tenant)s AND t.id = u.turn AND t.conversation = told.id

-- name: delete_quoting_turns
-- An answer that quotes the document holds its text. What the person said stays.
DELETE FROM turn WHERE tenant = %(tenant)s AND documents @> ARRAY[%(id)s::uuid]

-- name: delete_traces
DELETE FROM trace WHERE tenant = %(tenant)s AND documents @> ARRAY[%(id)s::uuid]

-- name: document_blobs
SELECT DISTINCT blob FROM revision WHERE tenant = %(tenant)s AND document = %(id)s::uuid

-- name: blobs_in_use
SELECT DISTINCT blob FROM revision WHERE tenant = %(tenant)s AND blob = ANY (%(blobs)s::text[])

-- name: delete_document
DELETE FROM document WHERE tenant = %(tenant)s AND id = %(id)s::uuid

-- name: counts
WITH mine AS (
    SELECT id FROM document
    WHERE tenant = %(tenant)s
      AND (%(collections)s::text[] IS NULL OR collection = ANY (%(collections)s::text[]))
)
SELECT (SELECT count(*) FROM mine) AS documents,
       (SELECT coalesce(sum(r.chunks), 0) FROM revision r JOIN document d
            ON d.tenant = r.tenant AND d.current_revision = r.id
        WHERE r.tenant = %(tenant)s AND d.id IN (SELECT id FROM mine)) AS chunks,
       (SELECT count(*) FROM revision r
        WHERE r.tenant = %(tenant)s AND r.document IN (SELECT id FROM mine)
          AND r.state = 'accepted') AS waiting

-- name: hold_blob
-- Whoever wants to name these bytes waits until this session lets go.
SELECT pg_advisory_lock(hashtextextended(%(tenant)s || %(blob)s, 0))

-- name: let_go_blob
SELECT pg_advisory_unlock(hashtextextended(%(tenant)s || %(blob)s, 0))
