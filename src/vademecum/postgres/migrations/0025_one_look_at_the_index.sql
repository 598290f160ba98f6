-- As before, but each chunk of a page is looked at once: what the truth says and what the index has
-- stand side by side, and only rows that differ are written. (It called place_of twice a chunk.)
-- Runs as the role that owns the schema; search_path is vademecum, public.
CREATE OR REPLACE FUNCTION check_index(wanted_generation int, after uuid, wanted int)
RETURNS TABLE (chunk uuid, has_vector boolean, has_states boolean, has_terms boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    ids uuid[];
    vectors boolean[];
    states boolean[];
    words boolean[];
    strayed_vectors uuid[];
    strayed_words uuid[];
BEGIN
    SELECT array_agg(x.id ORDER BY x.id),
           array_agg(x.given_up OR x.vector_strayed IS NOT NULL ORDER BY x.id),
           array_agg(x.given_up OR x.states ORDER BY x.id),
           array_agg(x.words_strayed IS NOT NULL ORDER BY x.id),
           array_agg(x.id) FILTER (WHERE x.vector_strayed),
           array_agg(x.id) FILTER (WHERE x.words_strayed)
        INTO ids, vectors, states, words, strayed_vectors, strayed_words
        FROM (
            SELECT c.id, wanted_generation = ANY (c.given_up) AS given_up,
                   (SELECT (v.document, v.collection, v.access_set, v.language, v.valid_from,
                            v.valid_until)
                           IS DISTINCT FROM (c.document, p.collection, p.access_set, c.language,
                                             p.valid_from, p.valid_until)
                    FROM chunk_vector v
                    WHERE v.tenant = t AND v.chunk = c.id AND v.generation = wanted_generation
                   ) AS vector_strayed,
                   EXISTS (SELECT FROM chunk_states s
                           WHERE s.tenant = t AND s.chunk = c.id
                             AND s.generation = wanted_generation) AS states,
                   (SELECT (v.document, v.collection, v.access_set, v.language, v.valid_from,
                            v.valid_until, v.counted)
                           IS DISTINCT FROM (c.document, p.collection, p.access_set, c.language,
                                             p.valid_from, p.valid_until, p.valid_until > now())
                    FROM chunk_terms v
                    WHERE v.tenant = t AND v.chunk = c.id AND v.generation = wanted_generation
                   ) AS words_strayed
            FROM (SELECT n.id, n.document, n.revision, n.language, n.given_up FROM chunk n
                  WHERE n.tenant = t AND n.id > after ORDER BY n.id LIMIT wanted) AS c
            CROSS JOIN LATERAL (
                SELECT d.collection, d.access_set, r.valid_from, r.valid_until
                FROM revision r JOIN document d ON d.tenant = t AND d.id = r.document
                WHERE r.tenant = t AND r.id = c.revision
                OFFSET 0) AS p
        ) AS x;
    IF strayed_vectors IS NOT NULL THEN
        UPDATE chunk_vector v
            SET document = p.document, collection = p.collection, access_set = p.access_set,
                language = p.language, valid_from = p.valid_from, valid_until = p.valid_until
            FROM unnest(strayed_vectors) AS w (chunk) CROSS JOIN LATERAL place_of(w.chunk) AS p
            WHERE v.tenant = t AND v.chunk = w.chunk AND v.generation = wanted_generation;
    END IF;
    IF strayed_words IS NOT NULL THEN
        UPDATE chunk_terms v
            SET document = p.document, collection = p.collection, access_set = p.access_set,
                language = p.language, valid_from = p.valid_from, valid_until = p.valid_until
            FROM unnest(strayed_words) AS w (chunk) CROSS JOIN LATERAL place_of(w.chunk) AS p
            WHERE v.tenant = t AND v.chunk = w.chunk AND v.generation = wanted_generation;
    END IF;
    RETURN QUERY SELECT * FROM unnest(ids, vectors, states, words);
END $$;
