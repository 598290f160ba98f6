-- A graph of each large language instead of one of all: none has to pass over what is of another
-- language to find what is of its own, which took four times as long, and what is of no large
-- language is compared without a look at the rest.
-- Runs as the role that owns the schema; search_path is vademecum, public.

DROP FUNCTION nearest_chunks(int, halfvec, text, text[], text[], date, uuid[], int, bigint);
DROP FUNCTION nearest_of_languages(
    int, halfvec, text[], text[], text[], double precision[], double precision, text[], date,
    uuid[], int);

-- The languages of a generation that have a whole graph. `chunk_vector_graph_1_pt` is that of the
-- generation 1 and Portuguese.
CREATE FUNCTION languages_with_graph(wanted_generation int) RETURNS text[]
LANGUAGE sql STABLE SET search_path = vademecum, public, pg_temp
AS $$
    SELECT coalesce(array_agg(split_part(c.relname, '_', 5)), '{}')
    FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = 'vademecum.chunk_vector'::regclass AND i.indisvalid
      AND c.relname LIKE format('chunk\_vector\_graph\_%s\_%%', wanted_generation)
$$;

-- Every language of a tenant's rows, by steps from one to the next, so that no row is read twice.
CREATE FUNCTION languages_of_tenant(t text, wanted_generation int) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path = vademecum, public, pg_temp
AS $$
    WITH RECURSIVE step AS (
        (SELECT v.language FROM chunk_vector v
         WHERE v.tenant = t AND v.generation = wanted_generation
         ORDER BY v.language LIMIT 1)
        UNION ALL
        SELECT (SELECT v.language FROM chunk_vector v
                WHERE v.tenant = t AND v.generation = wanted_generation
                  AND v.language > s.language ORDER BY v.language LIMIT 1)
        FROM step s WHERE s.language IS NOT NULL)
    SELECT language FROM step WHERE language IS NOT NULL
$$;
CREATE INDEX chunk_vector_language ON chunk_vector (tenant, generation, language);

-- The nearest of one language by its graph, in no order that counts, and beside it those that have
-- a last day, which are in no graph; NULL where the graph gave fewer than are wanted.
CREATE FUNCTION nearest_by_graph(
    wanted_generation int, query halfvec, wanted_language text, wanted_collections text[],
    wanted_documents uuid[], wanted int
) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
    moment timestamptz := moment_of(NULL);
    chunks uuid[];
BEGIN
    IF t IS NULL THEN RETURN NULL; END IF;
    -- More than wanted are taken, since the graph's order is only nearly right.
    PERFORM set_config('hnsw.ef_search', least(1000, greatest(100, 2 * wanted))::text, true),
            set_config('hnsw.iterative_scan', 'relaxed_order', true);
    EXECUTE format($graph$
        SELECT array_agg(n.chunk) FROM (
            SELECT v.chunk
            FROM chunk_vector v
            WHERE v.generation = %1$s AND v.language = %3$L AND v.valid_until = 'infinity'
              AND v.tenant = $1 AND v.access_set = ANY ($2) AND v.valid_from <= $3
              AND ($4 IS NULL OR v.collection = ANY ($4))
              AND ($5 IS NULL OR v.document = ANY ($5))
            ORDER BY v.embedding::halfvec(%2$s) <=> $6
            LIMIT $7) AS n
        $graph$, wanted_generation, vector_dims(query), wanted_language)
        INTO chunks
        USING t, sets, moment, wanted_collections, wanted_documents, query, 2 * wanted;
    IF coalesce(cardinality(chunks), 0) < wanted THEN RETURN NULL; END IF;
    RETURN chunks || ARRAY(
        SELECT v.chunk FROM chunk_vector v
        WHERE v.tenant = t AND v.generation = wanted_generation AND v.language = wanted_language
          AND v.valid_until < 'infinity' AND v.valid_until > moment
          AND v.valid_from <= moment AND v.access_set = ANY (sets)
          AND (wanted_collections IS NULL OR v.collection = ANY (wanted_collections))
          AND (wanted_documents IS NULL OR v.document = ANY (wanted_documents))
        ORDER BY v.embedding <=> query LIMIT wanted);
END $$;

-- The nearest of some languages (NULL: of all), compared one by one: by the cosine less the usual
-- one of the chunk's language, which three arrays give, or `common` where they do not.
CREATE FUNCTION nearest_compared(
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
            ORDER BY (v.embedding <=> $10) + coalesce(u.cosine, $11), v.chunk
            LIMIT $12) AS n
        $compared$, rows_of,
        CASE WHEN wanted_languages IS NULL THEN 'true'
             ELSE format('v.language = ANY (%L::text[])', wanted_languages) END)
        INTO chunks
        USING t, wanted_generation, sets, moment, usual_collections, usual_languages,
              usual_cosines, wanted_documents, wanted_collections, query, common, wanted;
    RETURN coalesce(chunks, '{}');
END $$;

-- The dense leg. A language that has a graph, and of which more than `exact_below` chunks may be
-- seen, is searched by it; all others are compared in one pass, and so is the past, and what a
-- filter leaves of few documents. Where the searched collections hold at least two languages of
-- `fewest` chunks each (`mixed`), a score is the cosine less the one of the language's mean vector.
-- `low` is the lowest score of a sample of what may be seen, NULL where there is too little of it.
-- `plan` tells how it was searched.
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
    rest text[];
    name text;
    near uuid[];
    ids uuid[] := '{}';
    plans text[] := '{}';
BEGIN
    IF t IS NULL THEN RETURN; END IF;
    SELECT array_agg(m.collection), array_agg(m.language), array_agg(-(m.mean <#> query)),
           coalesce(avg(-(m.mean <#> query)), 0), count(DISTINCT m.language) > 1
        INTO means_collections, means_languages, means_cosines, common, mixed
        FROM language_means(wanted_generation, wanted_collections, fewest) AS m;
    IF NOT mixed THEN
        means_collections := NULL; means_languages := NULL; means_cosines := NULL;
        common := 0;
    END IF;
    IF wanted_day IS NULL AND (wanted_documents IS NULL OR cardinality(wanted_documents) > 2000)
    THEN
        large := ARRAY(
            SELECT g.language
            FROM unnest(languages_with_graph(wanted_generation)) AS g (language)
            JOIN language_statistics(wanted_generation, wanted_collections) AS s
                ON s.term = language_term(g.language)
            WHERE s.chunks > exact_below);
    END IF;
    IF large <> '{}' THEN
        rest := ARRAY(SELECT l FROM languages_of_tenant(t, wanted_generation) AS l WHERE l <> ALL (large));
        FOREACH name IN ARRAY large LOOP
            near := nearest_by_graph(wanted_generation, query, name, wanted_collections,
                                     wanted_documents, wanted);
            IF near IS NULL THEN
                rest := rest || name;
                plans := plans || 'exact after graph'::text;
            ELSE
                ids := ids || near;
                plans := plans || 'graph'::text;
            END IF;
        END LOOP;
    END IF;
    near := nearest_compared(
        wanted_generation, query, rest, means_collections, means_languages, means_cosines, common,
        wanted_collections, wanted_day, wanted_documents, wanted);
    IF near <> '{}' OR plans = '{}' THEN
        ids := ids || near;
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

REVOKE ALL ON FUNCTION languages_with_graph, languages_of_tenant, nearest_by_graph,
    nearest_compared FROM PUBLIC;

-- What is left of before: graphs of all languages together.
DO $$
DECLARE graph text;
BEGIN
    FOR graph IN SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname = 'vademecum' AND c.relname ~ '^chunk_vector_graph_\d+$' LOOP
        EXECUTE format('DROP INDEX vademecum.%I', graph);
    END LOOP;
END $$;
