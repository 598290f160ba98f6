-- name: insert_run
INSERT INTO evaluation_run (tenant, id, principal, name, sha256, seconds, questions, skipped,
                            settings, versions, summaries, created_at)
VALUES (%(tenant)s, %(id)s::uuid, %(principal)s, %(name)s, %(sha256)s, %(seconds)s,
        %(questions)s::int, %(skipped)s::int, %(settings)s::jsonb, %(versions)s::jsonb,
        %(summaries)s::jsonb, %(created_at)s::timestamptz)

-- name: insert_results
INSERT INTO evaluation_result (tenant, run, ordinal, question, kind, language, answerable, scores,
                               apart, chunks, abstained, confidence, trace, degraded, milliseconds)
SELECT %(tenant)s, %(run)s::uuid, r.ordinal, r.question, r.kind, r.language, r.answerable,
       r.scores, r.apart, r.chunks, r.abstained, r.confidence, r.trace, r.degraded, r.milliseconds
FROM jsonb_to_recordset(%(results)s::jsonb) AS r
    (ordinal int, question text, kind text, language text, answerable boolean, scores jsonb,
     apart jsonb, chunks uuid[], abstained boolean, confidence double precision, trace uuid,
     degraded text[], milliseconds double precision)

-- name: runs
-- The newest first, or the one named.
SELECT id, principal, name, sha256, seconds, questions, skipped, settings, versions, summaries,
       created_at
FROM evaluation_run e
WHERE e.tenant = %(tenant)s AND (%(id)s::uuid IS NULL OR e.id = %(id)s::uuid)
ORDER BY created_at DESC, id DESC
LIMIT %(limit)s::int

-- name: results
SELECT question, kind, language, answerable, scores, apart, chunks, abstained, confidence, trace,
       degraded, milliseconds
FROM evaluation_result r
WHERE r.tenant = %(tenant)s AND r.run = %(run)s::uuid
ORDER BY r.ordinal

-- name: pieces
-- Of the newest revision that was read, or of the one in force at the end of a day.
SELECT c.id, c.start_offset, c.end_offset
FROM document d
JOIN revision r ON r.tenant = d.tenant AND r.document = d.id
JOIN chunk c ON c.tenant = r.tenant AND c.revision = r.id
WHERE d.tenant = %(tenant)s AND r.tenant = %(tenant)s AND c.tenant = %(tenant)s
  AND d.id = %(document)s::uuid
  AND CASE WHEN %(as_of)s::date IS NULL THEN r.id = d.current_revision
           ELSE r.valid_from <= moment_of(%(as_of)s::date)
                AND r.valid_until > moment_of(%(as_of)s::date) END
ORDER BY c.ordinal
