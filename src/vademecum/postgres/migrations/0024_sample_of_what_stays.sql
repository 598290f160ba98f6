-- A sample of vectors is taken while documents are deleted: of those that stay.
-- Runs as the role that owns the schema; search_path is vademecum, public.

CREATE OR REPLACE FUNCTION refresh_frames(wanted_generation int, sampled int) RETURNS int
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    names text[];
    sets int[];
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('vademecum.frames.' || t, 0)) THEN
        RETURN 0;
    END IF;
    SELECT array_agg(n.collection), array_agg(n.access_set) INTO names, sets
        FROM (SELECT c.collection, c.access_set, sum(c.chunks) AS chunks
              FROM term_counts c
              WHERE c.tenant = t AND c.generation = wanted_generation AND c.term = 0
              GROUP BY 1, 2) AS n
        LEFT JOIN (SELECT m.collection, m.access_set, sum(m.chunks) AS chunks
                   FROM language_total m
                   WHERE m.tenant = t AND m.generation = wanted_generation
                   GROUP BY 1, 2) AS known USING (collection, access_set)
        WHERE n.chunks > 0 AND n.chunks >= 2 * coalesce(known.chunks, 0);
    IF names IS NULL THEN RETURN 0; END IF;
    DELETE FROM language_total m USING unnest(names, sets) AS w (collection, access_set)
        WHERE m.tenant = t AND m.generation = wanted_generation
          AND m.collection = w.collection AND m.access_set = w.access_set;
    DELETE FROM vector_sample m USING unnest(names, sets) AS w (collection, access_set)
        WHERE m.tenant = t AND m.generation = wanted_generation
          AND m.collection = w.collection AND m.access_set = w.access_set;
    INSERT INTO language_total (tenant, generation, collection, access_set, language, chunks,
                                total)
        SELECT t, wanted_generation, v.collection, v.access_set, v.language, count(*),
               sum(v.embedding::vector)
        FROM chunk_vector v JOIN unnest(names, sets) AS w (collection, access_set)
             USING (collection, access_set)
        WHERE v.tenant = t AND v.generation = wanted_generation AND v.valid_until > now()
        GROUP BY 3, 4, 5;
    INSERT INTO vector_sample (tenant, generation, collection, access_set, chunk, language, place,
                               embedding)
        SELECT t, wanted_generation, x.collection, x.access_set, x.chunk, x.language, x.place,
               x.embedding
        FROM (SELECT v.*, hashtext(v.chunk::text) AS place,
                     row_number() OVER (PARTITION BY v.collection, v.access_set
                                        ORDER BY hashtext(v.chunk::text)) AS number
              FROM chunk_vector v JOIN unnest(names, sets) AS w (collection, access_set)
                   USING (collection, access_set)
              WHERE v.tenant = t AND v.generation = wanted_generation
                AND v.valid_until > now()) AS x
        JOIN chunk c ON c.tenant = t AND c.id = x.chunk
        WHERE x.number <= sampled
        -- One that is being deleted is left out, and not waited for.
        FOR KEY SHARE OF c SKIP LOCKED
        ON CONFLICT DO NOTHING;
    RETURN cardinality(names);
END $$;
