-- What a search costs: a filter on metadata looks at nothing else, several languages are compared
-- in one pass, and few chunks are reached without a look at all.

-- The few rows of an access set or a language, where there are many of others.
CREATE INDEX chunk_vector_place ON chunk_vector (tenant, access_set, language);

-- As before, but the facts that are not metadata cost a look into another table a document, so
-- they are made only where a filter names one. A path holds keys as JSON strings, so what begins
-- with `document.` stands there with its quotation mark; where another key or no key looks alike,
-- more is made than is needed, never less.
CREATE OR REPLACE FUNCTION matching_documents(
    wanted_filter jsonpath, wanted_values jsonb, wanted_collections text[]
) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
BEGIN
    IF wanted_filter IS NULL THEN RETURN NULL; END IF;
    IF strpos(wanted_filter::text, '"document.') > 0 THEN
        RETURN ARRAY(
            SELECT d.id FROM document d
            WHERE d.tenant = t AND d.access_set = ANY (sets)
              AND (wanted_collections IS NULL OR d.collection = ANY (wanted_collections))
              AND jsonb_path_match(document_facts(d), wanted_filter, wanted_values, true));
    END IF;
    RETURN ARRAY(
        SELECT d.id FROM document d
        WHERE d.tenant = t AND d.access_set = ANY (sets)
          AND (wanted_collections IS NULL OR d.collection = ANY (wanted_collections))
          AND jsonb_path_match(d.metadata, wanted_filter, wanted_values, true));
END $$;

-- The nearest of all languages but `other_than`, compared one by one in one pass: by the cosine
-- less the usual one of the chunk's language, which three arrays give, or `common` where they do
-- not.
CREATE FUNCTION nearest_of_languages(
    wanted_generation int, query halfvec, other_than text[], usual_collections text[],
    usual_languages text[], usual_cosines double precision[], common double precision,
    wanted_collections text[], wanted_day date, wanted_documents uuid[], wanted int
) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
    moment timestamptz := moment_of(wanted_day);
BEGIN
    IF cardinality(wanted_documents) <= 2000 THEN
        RETURN ARRAY(
            SELECT v.chunk
            FROM unnest(wanted_documents) AS w (document)
            CROSS JOIN LATERAL (
                SELECT x.chunk, x.embedding, x.collection, x.access_set, x.generation, x.language,
                       x.valid_from, x.valid_until
                FROM chunk_vector x WHERE x.tenant = t AND x.document = w.document OFFSET 0) AS v
            LEFT JOIN unnest(usual_collections, usual_languages, usual_cosines)
                AS u (collection, language, cosine) USING (collection, language)
            WHERE v.generation = wanted_generation AND v.access_set = ANY (sets)
              AND v.valid_from <= moment AND v.valid_until > moment
              AND v.language <> ALL (other_than)
              AND (wanted_collections IS NULL OR v.collection = ANY (wanted_collections))
            ORDER BY (v.embedding <=> query) + coalesce(u.cosine, common), v.chunk
            LIMIT wanted);
    END IF;
    RETURN ARRAY(
        SELECT v.chunk
        FROM chunk_vector v
        LEFT JOIN unnest(usual_collections, usual_languages, usual_cosines)
            AS u (collection, language, cosine) USING (collection, language)
        WHERE v.tenant = t AND v.generation = wanted_generation AND v.access_set = ANY (sets)
          AND v.valid_from <= moment AND v.valid_until > moment
          AND v.language <> ALL (other_than)
          AND (wanted_collections IS NULL OR v.collection = ANY (wanted_collections))
          AND (wanted_documents IS NULL OR v.document = ANY (wanted_documents))
        ORDER BY (v.embedding <=> query) + coalesce(u.cosine, common), v.chunk
        LIMIT wanted);
END $$;

-- The dense leg, as before, but that a language is searched by itself only where a graph serves it:
-- all others are compared in one pass. Where the searched collections hold at least two languages
-- of `fewest` chunks each (`mixed`), a score is the cosine less the one of the language's mean
-- vector. `low` is the lowest score of a sample of what may be seen, NULL where there is too little
-- of it.
CREATE OR REPLACE FUNCTION search_dense(
    wanted_generation int, query halfvec, wanted_collections text[], wanted_day date,
    wanted_documents uuid[], wanted int, exact_below bigint, fewest int, sampled int
) RETURNS TABLE (
    chunk uuid, score double precision, low double precision, mixed boolean, plan text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
    means_collections text[];
    means_languages text[];
    means_cosines double precision[];
    common double precision;
    large text[] := '{}';
    name text;
    found record;
    ids uuid[] := '{}';
    plans text[] := '{}';
BEGIN
    IF t IS NULL THEN RETURN; END IF;
    SELECT array_agg(m.collection), array_agg(m.language), array_agg(-(m.mean <#> query)),
           avg(-(m.mean <#> query)), count(DISTINCT m.language) > 1
        INTO means_collections, means_languages, means_cosines, common, mixed
        FROM language_means(wanted_generation, wanted_collections, fewest) AS m;
    IF NOT mixed THEN
        means_collections := NULL; means_languages := NULL; means_cosines := NULL;
        common := 0;
        SELECT * INTO found FROM nearest_chunks(
            wanted_generation, query, NULL, '{}', wanted_collections, wanted_day,
            wanted_documents, wanted, exact_below);
        ids := found.chunks;
        plans := ARRAY[found.plan];
    ELSE
        IF wanted_day IS NULL AND (wanted_documents IS NULL OR cardinality(wanted_documents) > 2000)
           AND EXISTS (SELECT FROM pg_index i
                       WHERE i.indexrelid = to_regclass(format('vademecum.chunk_vector_graph_%s',
                                                               wanted_generation))
                         AND i.indisvalid) THEN
            large := ARRAY(
                SELECT l.language
                FROM (SELECT DISTINCT x.language FROM unnest(means_languages) AS x (language)) AS l
                JOIN language_statistics(wanted_generation, wanted_collections) AS s
                    ON s.term = language_term(l.language)
                WHERE s.chunks > exact_below);
        END IF;
        FOREACH name IN ARRAY large LOOP
            SELECT * INTO found FROM nearest_chunks(
                wanted_generation, query, name, '{}', wanted_collections, wanted_day,
                wanted_documents, wanted, exact_below);
            ids := ids || found.chunks;
            plans := plans || found.plan;
        END LOOP;
        ids := ids || nearest_of_languages(
            wanted_generation, query, large, means_collections, means_languages, means_cosines,
            common, wanted_collections, wanted_day, wanted_documents, wanted);
        plans := plans || 'exact'::text;
    END IF;
    plan := array_to_string(ARRAY(SELECT DISTINCT p FROM unnest(plans) AS p ORDER BY p), ', ');
    RETURN QUERY
        WITH usual AS MATERIALIZED (
            SELECT u.collection, u.language, u.cosine
            FROM unnest(means_collections, means_languages, means_cosines)
                AS u (collection, language, cosine)
        ), sampled_rows AS MATERIALIZED (
            SELECT s.collection, s.language, s.embedding
            FROM vector_sample s
            WHERE s.tenant = t AND s.generation = wanted_generation AND s.access_set = ANY (sets)
              AND (wanted_collections IS NULL OR s.collection = ANY (wanted_collections))
            ORDER BY s.place LIMIT sampled
        ), lowest AS (
            SELECT CASE WHEN count(*) >= fewest
                   THEN min(1 - (s.embedding <=> query) - coalesce(u.cosine, common)) END
                   AS score
            FROM sampled_rows s LEFT JOIN usual u USING (collection, language)
        ), compared AS (
            SELECT v.chunk AS id,
                   1 - (v.embedding <=> query) - coalesce(u.cosine, common) AS score
            FROM chunk_vector v LEFT JOIN usual u USING (collection, language)
            WHERE v.tenant = t AND v.chunk = ANY (ids) AND v.generation = wanted_generation
        )
        SELECT x.id, x.score, (SELECT lowest.score FROM lowest), search_dense.mixed,
               search_dense.plan
        FROM compared x
        ORDER BY x.score DESC, x.id
        LIMIT wanted;
END $$;

REVOKE ALL ON FUNCTION nearest_of_languages FROM PUBLIC;
