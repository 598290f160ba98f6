-- name: tenants
SELECT id FROM tenants() AS id

-- name: check_index
SELECT chunk, has_vector, has_states, has_terms
FROM check_index(%(generation)s::int, %(after)s::uuid, %(limit)s::int)

-- name: gap_texts
SELECT id, CASE WHEN context = '' THEN text ELSE context || E'\n' || text END AS embedded_text,
       language
FROM chunk
WHERE tenant = %(tenant)s AND id = ANY (%(ids)s::uuid[])

-- name: hold_documents
-- No write of these documents comes between, so that where a chunk stands is still so when its rows
-- are written; a deletion that was under way is seen afterwards.
SELECT d.id FROM document d
WHERE d.tenant = %(tenant)s
  AND d.id IN (SELECT c.document FROM chunk c
               WHERE c.tenant = %(tenant)s AND c.id = ANY (%(ids)s::uuid[]))
ORDER BY d.id
FOR KEY SHARE

-- name: give_up
UPDATE chunk SET unembedded = %(reason)s, given_up = given_up || %(generation)s::int
WHERE tenant = %(tenant)s AND id = %(id)s::uuid

-- name: retired_revisions
-- Never a document's current revision nor its newest, whose state is the document's.
DELETE FROM revision r
WHERE r.tenant = %(tenant)s AND r.state <> 'accepted'
  AND coalesce(r.valid_until, r.accepted_at) < %(before)s
  AND NOT EXISTS (SELECT FROM document d
                  WHERE d.tenant = %(tenant)s AND d.id = r.document
                    AND d.current_revision = r.id)
  AND EXISTS (SELECT FROM revision n
              WHERE n.tenant = %(tenant)s AND n.document = r.document AND n.number > r.number)
RETURNING r.blob

-- name: fold_terms
SELECT fold_terms(%(limit)s::int) AS folded

-- name: refresh_frames
SELECT refresh_frames(%(generation)s::int, %(sampled)s::int)

-- name: old_traces
DELETE FROM trace WHERE tenant = %(tenant)s AND created_at < %(before)s
RETURNING id

-- name: forget_audit
SELECT forget_audit(%(before)s::timestamptz)

-- name: untend_gaps
-- Conversations of which the index lacks a turn are given to the job once more.
UPDATE conversation SET tended_through = 0
WHERE tenant = %(tenant)s AND tended_through > 0 AND id IN (
    SELECT t.conversation FROM turn t
    WHERE t.tenant = %(tenant)s AND t.state <> 'writing' AND t.text <> ''
      AND NOT EXISTS (SELECT FROM turn_unit u
                      WHERE u.tenant = %(tenant)s AND u.turn = t.id
                        AND u.generation = %(generation)s::int
                        AND (u.embedding IS NOT NULL OR u.given_up)))
