-- name: keep
INSERT INTO calibration (tenant, collection, name, sha256, generation, ranking, same, across,
                         dense_weight, figures, created_at)
VALUES (%(tenant)s, %(collection)s, %(name)s, %(sha256)s, %(generation)s::int, %(ranking)s::jsonb,
        %(same)s::jsonb, %(across)s::jsonb, %(dense_weight)s::double precision,
        %(figures)s::jsonb, %(created_at)s::timestamptz)
ON CONFLICT (tenant, collection) DO UPDATE
SET name = EXCLUDED.name, sha256 = EXCLUDED.sha256, generation = EXCLUDED.generation,
    ranking = EXCLUDED.ranking, same = EXCLUDED.same, across = EXCLUDED.across,
    dense_weight = EXCLUDED.dense_weight, figures = EXCLUDED.figures,
    created_at = EXCLUDED.created_at

-- name: of
SELECT collection, name, sha256, generation, ranking, same, across, dense_weight, figures,
       created_at
FROM calibration c
WHERE c.tenant = %(tenant)s AND c.collection = %(collection)s
  AND c.generation = %(generation)s::int

-- name: all
SELECT collection, name, sha256, generation, ranking, same, across, dense_weight, figures,
       created_at
FROM calibration c
WHERE c.tenant = %(tenant)s
ORDER BY c.collection

-- name: remove
DELETE FROM calibration c
WHERE c.tenant = %(tenant)s AND c.collection = %(collection)s
RETURNING collection

-- name: forget_answers
-- Answers that may be given again were written by what held before.
WITH shared AS (DELETE FROM shared_answer s WHERE s.tenant = %(tenant)s)
DELETE FROM kept_answer k WHERE k.tenant = %(tenant)s
