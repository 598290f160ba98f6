-- Compare one by one in half of the time.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- The nearest of some languages (NULL: of all), compared one by one: by the cosine less the usual
-- one of the chunk's language, which three arrays give, or `common` where they do not. Vectors are of
-- norm 1, so the inner product orders them as the cosine does, in half of its time.
CREATE OR REPLACE FUNCTION nearest_compared(
    wanted_generation int, query halfvec, wanted_languages text[], usual_collections text[],
    usual_languages text[], usual_cosines double precision[], common double precision,
    wanted_collections text[], wanted_day date, wanted_documents uuid[], wanted int
) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
    moment timestamptz := moment_of(wanted_day);
    rows_of text := 'chunk_vector v';
    chunks uuid[];
BEGIN
    IF t IS NULL OR wanted_languages = '{}' THEN RETURN '{}'; END IF;
    -- Few documents are reached one by one, whatever the planner thinks of a large table.
    IF cardinality(wanted_documents) <= 2000 THEN
        rows_of := 'unnest($8) AS w (document) CROSS JOIN LATERAL (
            SELECT x.chunk, x.embedding, x.collection, x.access_set, x.generation, x.language,
                   x.tenant, x.document, x.valid_from, x.valid_until
            FROM chunk_vector x WHERE x.tenant = $1 AND x.document = w.document OFFSET 0) AS v';
    END IF;
    -- Planned for these languages: a plan for any would read the whole table.
    EXECUTE format($compared$
        SELECT array_agg(n.chunk) FROM (
            SELECT v.chunk
            FROM %1$s
            LEFT JOIN unnest($5, $6, $7) AS u (collection, language, cosine)
                USING (collection, language)
            WHERE v.tenant = $1 AND v.generation = $2 AND v.access_set = ANY ($3)
              AND v.valid_from <= $4 AND v.valid_until > $4
              AND %2$s
              AND ($9 IS NULL OR v.collection = ANY ($9))
              AND ($8 IS NULL OR v.document = ANY ($8))
            ORDER BY (v.embedding <#> $10) + coalesce(u.cosine, $11), v.chunk
            LIMIT $12) AS n
        $compared$, rows_of,
        CASE WHEN wanted_languages IS NULL THEN 'true'
             ELSE format('v.language = ANY (%L::text[])', wanted_languages) END)
        INTO chunks
        USING t, wanted_generation, sets, moment, usual_collections, usual_languages,
              usual_cosines, wanted_documents, wanted_collections, query, common, wanted;
    RETURN coalesce(chunks, '{}');
END $$;
