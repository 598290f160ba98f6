-- Filters, exact statistics without counting, token states, what vectors are compared with, audit.

-- The version that its source gave, where it gave one.
ALTER TABLE document ADD version bigint;

-- Index rows name their document, so that a filter is looked up once a document and not once a
-- chunk, and a few documents are reached without a scan.
ALTER TABLE chunk_vector ADD document uuid;
UPDATE chunk_vector v SET document = c.document FROM chunk c
    WHERE c.tenant = v.tenant AND c.id = v.chunk;
ALTER TABLE chunk_vector ALTER document SET NOT NULL;
CREATE INDEX chunk_vector_document ON chunk_vector (tenant, document);
-- `counted`: it is part of the statistics, as it was in force when that was last looked at.
ALTER TABLE chunk_terms ADD document uuid, ADD language text, ADD counted boolean;
UPDATE chunk_terms v
    SET document = c.document, language = c.language, counted = v.valid_until > now()
    FROM chunk c WHERE c.tenant = v.tenant AND c.id = v.chunk;
ALTER TABLE chunk_terms ALTER document SET NOT NULL, ALTER language SET NOT NULL,
    ALTER counted SET NOT NULL;
CREATE INDEX chunk_terms_document ON chunk_terms (tenant, document);

-- Late interaction: the signs of a chunk's centred token states, d / 8 bytes a token.
CREATE TABLE chunk_states (
    tenant text NOT NULL,
    chunk uuid NOT NULL,
    generation int NOT NULL REFERENCES index_generation,
    signs bytea NOT NULL,
    PRIMARY KEY (tenant, chunk, generation),
    FOREIGN KEY (tenant, chunk) REFERENCES chunk (tenant, id) ON DELETE CASCADE
);
-- Signs do not compress.
ALTER TABLE chunk_states ALTER signs SET STORAGE EXTERNAL;

-- How many chunks hold a term, by the permissions that they have: the sum over the access sets
-- that a principal sees is exact, and nothing else is in it. Term 0 stands for any chunk, negative
-- ones for the languages. Each write adds deltas and changes no row that another one needs;
-- `fold_terms` adds them up.
CREATE TABLE term_count (
    tenant text NOT NULL,
    generation int NOT NULL REFERENCES index_generation,
    term int NOT NULL,
    collection text NOT NULL,
    access_set int NOT NULL,
    chunks bigint NOT NULL,
    PRIMARY KEY (tenant, generation, term, collection, access_set)
);
CREATE TABLE term_delta (
    tenant text NOT NULL,
    generation int NOT NULL,
    term int NOT NULL,
    collection text NOT NULL,
    access_set int NOT NULL,
    chunks bigint NOT NULL
);
CREATE INDEX term_delta_term ON term_delta (tenant, generation, term);

-- Both together, to be added up; only functions of the owner read it.
CREATE VIEW term_counts WITH (security_invoker = true) AS
    SELECT tenant, generation, term, collection, access_set, chunks FROM term_count
    UNION ALL
    SELECT tenant, generation, term, collection, access_set, chunks FROM term_delta;

-- What cosines are measured against: sums of vectors by permissions, as the term counts, so that
-- nothing of a document which somebody may not see is in what they are shown; and a sample. They
-- stand still until what they are made of has doubled.
CREATE TABLE language_total (
    tenant text NOT NULL,
    generation int NOT NULL REFERENCES index_generation,
    collection text NOT NULL,
    access_set int NOT NULL,
    language text NOT NULL,
    chunks bigint NOT NULL,
    total vector NOT NULL,
    PRIMARY KEY (tenant, generation, collection, access_set, language)
);
CREATE TABLE vector_sample (
    tenant text NOT NULL,
    generation int NOT NULL REFERENCES index_generation,
    collection text NOT NULL,
    access_set int NOT NULL,
    chunk uuid NOT NULL,
    language text NOT NULL,
    place int NOT NULL,
    embedding halfvec NOT NULL,
    PRIMARY KEY (tenant, generation, chunk),
    FOREIGN KEY (tenant, chunk) REFERENCES chunk (tenant, id) ON DELETE CASCADE
);
CREATE INDEX vector_sample_place ON vector_sample (tenant, generation, place);

-- Who retrieved what, under which permissions; ids only. Nobody but an operator reads it, and
-- nobody changes it.
CREATE TABLE audit_event (
    tenant text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    trace uuid NOT NULL,
    kind text NOT NULL,
    principal text NOT NULL,
    policy_epoch bigint NOT NULL,
    chunks uuid[] NOT NULL,
    occurred_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id)
);
CREATE INDEX audit_event_age ON audit_event (occurred_at);
ALTER TABLE audit_event ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit_event FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT ON audit_event TO vademecum_app;
CREATE POLICY made ON audit_event FOR INSERT WITH CHECK (tenant = current_tenant());
CREATE POLICY visible ON audit_event FOR SELECT
    USING (tenant = current_tenant() AND is_operator());
CREATE POLICY removed ON audit_event FOR DELETE
    USING (tenant = current_tenant() AND is_operator());
-- The only way in which an event goes: by its age.
CREATE FUNCTION forget_audit(before timestamptz) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$ DELETE FROM audit_event WHERE tenant = current_tenant() AND occurred_at < before $$;
CREATE INDEX trace_age ON trace (created_at);

-- The permissions of a tenant as a number that grows with every change of them.
CREATE TABLE policy_epoch (
    tenant text PRIMARY KEY,
    epoch bigint NOT NULL
);
ALTER TABLE policy_epoch ENABLE ROW LEVEL SECURITY;
ALTER TABLE policy_epoch FORCE ROW LEVEL SECURITY;
GRANT SELECT, INSERT, UPDATE ON policy_epoch TO vademecum_app;
CREATE POLICY visible ON policy_epoch USING (tenant = current_tenant());

CREATE FUNCTION language_term(language text) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = vademecum, public, pg_temp
AS $$
    SELECT CASE WHEN language ~ '^[a-z]{2,3}$' THEN
        -(729 * (ascii(substr(language, 1, 1)) - 96) + 27 * (ascii(substr(language, 2, 1)) - 96)
          + greatest(0, ascii(substr(language, 3, 1)) - 96))
        ELSE -1 END
$$;

-- What is out of force is not counted; whoever writes a row need not know it.
CREATE FUNCTION set_counted() RETURNS trigger
LANGUAGE plpgsql SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    NEW.counted := NEW.valid_until > now();
    RETURN NEW;
END $$;
CREATE TRIGGER set_counted BEFORE INSERT OR UPDATE ON chunk_terms
    FOR EACH ROW EXECUTE FUNCTION set_counted();

CREATE FUNCTION count_terms() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    IF TG_OP IN ('INSERT', 'DELETE') THEN
        INSERT INTO term_delta (tenant, generation, term, collection, access_set, chunks)
            SELECT r.tenant, r.generation, u.term, r.collection, r.access_set,
                   CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
            FROM changed_rows r
            CROSS JOIN LATERAL unnest(r.terms || ARRAY[0, language_term(r.language)]) AS u (term)
            WHERE r.counted
            GROUP BY 1, 2, 3, 4, 5;
    ELSIF TG_OP = 'TRUNCATE' THEN
        DELETE FROM term_count;
        DELETE FROM term_delta;
    ELSE
        INSERT INTO term_delta (tenant, generation, term, collection, access_set, chunks)
            SELECT side.tenant, side.generation, u.term, side.collection, side.access_set,
                   sum(side.sign)
            FROM old_rows o
            JOIN new_rows n USING (tenant, chunk, generation)
            CROSS JOIN LATERAL (VALUES
                (o.tenant, o.generation, o.collection, o.access_set, o.terms, o.language,
                 o.counted, -1),
                (n.tenant, n.generation, n.collection, n.access_set, n.terms, n.language,
                 n.counted, 1)
            ) AS side (tenant, generation, collection, access_set, terms, language, counted, sign)
            CROSS JOIN LATERAL unnest(side.terms || ARRAY[0, language_term(side.language)])
                AS u (term)
            WHERE side.counted
              AND (o.collection, o.access_set, o.terms, o.language, o.counted)
                  IS DISTINCT FROM (n.collection, n.access_set, n.terms, n.language, n.counted)
            GROUP BY 1, 2, 3, 4, 5
            HAVING sum(side.sign) <> 0;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER count_inserted AFTER INSERT ON chunk_terms
    REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION count_terms();
CREATE TRIGGER count_updated AFTER UPDATE ON chunk_terms
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_terms();
CREATE TRIGGER count_deleted AFTER DELETE ON chunk_terms
    REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION count_terms();
CREATE TRIGGER count_truncated AFTER TRUNCATE ON chunk_terms
    FOR EACH STATEMENT EXECUTE FUNCTION count_terms();
INSERT INTO term_count (tenant, generation, term, collection, access_set, chunks)
    SELECT v.tenant, v.generation, u.term, v.collection, v.access_set, count(*)
    FROM chunk_terms v
    CROSS JOIN LATERAL unnest(v.terms || ARRAY[0, language_term(v.language)]) AS u (term)
    WHERE v.counted
    GROUP BY 1, 2, 3, 4, 5;

-- Add up at most `wanted` deltas of the tenant; one transaction does it at a time.
CREATE FUNCTION fold_terms(wanted int) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    folded bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('vademecum.fold.' || t, 0)) THEN
        RETURN 0;
    END IF;
    WITH taken AS (
        DELETE FROM term_delta d
            WHERE d.ctid = ANY (ARRAY(SELECT x.ctid FROM term_delta x WHERE x.tenant = t
                                      LIMIT wanted))
            RETURNING d.generation, d.term, d.collection, d.access_set, d.chunks
    ), added AS (
        INSERT INTO term_count AS c (tenant, generation, term, collection, access_set, chunks)
            SELECT t, k.generation, k.term, k.collection, k.access_set, sum(k.chunks)
            FROM taken k GROUP BY 2, 3, 4, 5
            ON CONFLICT (tenant, generation, term, collection, access_set)
            DO UPDATE SET chunks = c.chunks + excluded.chunks
    )
    SELECT count(*) INTO folded FROM taken;
    DELETE FROM term_count c WHERE c.tenant = t AND c.chunks = 0 AND folded < wanted;
    RETURN folded;
END $$;

DROP FUNCTION search_dense, search_keyword, term_statistics, known_vectors, index_vectors,
    index_terms, check_index, index_access;

-- Where a chunk's index rows stand is read from the truth, never passed in. OFFSET 0 keeps each
-- step a look into one index, whatever the tables' statistics say.
CREATE FUNCTION place_of(wanted_chunk uuid) RETURNS TABLE (
    document uuid, collection text, access_set int, language text,
    valid_from timestamptz, valid_until timestamptz
)
LANGUAGE plpgsql STABLE ROWS 1 SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
BEGIN
    RETURN QUERY
        SELECT c.document, p.collection, p.access_set, c.language, p.valid_from, p.valid_until
        FROM chunk c CROSS JOIN LATERAL (
            SELECT d.collection, d.access_set, r.valid_from, r.valid_until
            FROM revision r JOIN document d ON d.tenant = t AND d.id = r.document
            WHERE r.tenant = t AND r.id = c.revision
            OFFSET 0) AS p
        WHERE c.tenant = t AND c.id = wanted_chunk;
END $$;

-- A row that is there already stays as it is. A chunk whose encoder gave no states has NULL.
CREATE FUNCTION index_vectors(
    wanted_generation int, chunks uuid[], embeddings halfvec[], signs bytea[]
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
BEGIN
    INSERT INTO chunk_vector (tenant, chunk, generation, document, collection, access_set,
                              language, valid_from, valid_until, embedding)
        SELECT t, w.chunk, wanted_generation, p.document, p.collection, p.access_set, p.language,
               p.valid_from, p.valid_until, w.embedding
        FROM unnest(chunks, embeddings) AS w (chunk, embedding)
        CROSS JOIN LATERAL place_of(w.chunk) AS p
        ON CONFLICT DO NOTHING;
    INSERT INTO chunk_states (tenant, chunk, generation, signs)
        SELECT t, w.chunk, wanted_generation, w.signs
        FROM unnest(chunks, index_vectors.signs) AS w (chunk, signs)
        CROSS JOIN LATERAL place_of(w.chunk)
        WHERE w.signs IS NOT NULL
        ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION index_terms(
    wanted_generation int, chunks uuid[], terms text[], weights sparsevec[]
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
BEGIN
    INSERT INTO chunk_terms (tenant, chunk, generation, document, collection, access_set,
                             language, valid_from, valid_until, terms, weights)
        SELECT t, w.chunk, wanted_generation, p.document, p.collection, p.access_set, p.language,
               p.valid_from, p.valid_until, w.terms::int[], w.weights
        FROM unnest(chunks, index_terms.terms, index_terms.weights) AS w (chunk, terms, weights)
        CROSS JOIN LATERAL place_of(w.chunk) AS p
        ON CONFLICT DO NOTHING;
END $$;

-- The index is its own cache: a text that any of the tenant's chunks has costs nothing again, and
-- what is deleted leaves no copy behind.
CREATE FUNCTION known_vectors(wanted_generation int, wanted_hashes text[])
RETURNS TABLE (text_hash text, embedding halfvec, signs bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
BEGIN
    RETURN QUERY
        SELECT w.hash, found.embedding, found.signs
        FROM unnest(wanted_hashes) AS w (hash)
        CROSS JOIN LATERAL (
            SELECT v.embedding,
                   (SELECT s.signs FROM chunk_states s
                    WHERE s.tenant = t AND s.chunk = c.id AND s.generation = wanted_generation)
            FROM chunk c CROSS JOIN LATERAL (
                SELECT p.embedding FROM chunk_vector p
                WHERE p.tenant = t AND p.chunk = c.id AND p.generation = wanted_generation
                OFFSET 0) AS v
            WHERE c.tenant = t AND c.text_hash = w.hash
            LIMIT 1) AS found;
END $$;

CREATE FUNCTION index_access(wanted_document uuid, wanted_access_set int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
BEGIN
    UPDATE chunk_vector v SET access_set = wanted_access_set
        WHERE v.tenant = t AND v.document = wanted_document;
    UPDATE chunk_terms v SET access_set = wanted_access_set
        WHERE v.tenant = t AND v.document = wanted_document;
    INSERT INTO policy_epoch AS p (tenant, epoch) VALUES (t, 1)
        ON CONFLICT (tenant) DO UPDATE SET epoch = p.epoch + 1;
END $$;

-- Chunks after `after` in the order of their ids, at most `wanted`, with what the index has of
-- them. A row whose place differs from the truth is put right on the way.
CREATE FUNCTION check_index(wanted_generation int, after uuid, wanted int)
RETURNS TABLE (chunk uuid, has_vector boolean, has_states boolean, has_terms boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    ids uuid[] := ARRAY(SELECT c.id FROM chunk c
                        WHERE c.tenant = t AND c.id > after ORDER BY c.id LIMIT wanted);
BEGIN
    UPDATE chunk_vector v
        SET document = p.document, collection = p.collection, access_set = p.access_set,
            language = p.language, valid_from = p.valid_from, valid_until = p.valid_until
        FROM unnest(ids) AS w (chunk) CROSS JOIN LATERAL place_of(w.chunk) AS p
        WHERE v.tenant = t AND v.chunk = w.chunk AND v.generation = wanted_generation
          AND (v.document, v.collection, v.access_set, v.language, v.valid_from, v.valid_until)
              IS DISTINCT FROM (p.document, p.collection, p.access_set, p.language, p.valid_from,
                                p.valid_until);
    UPDATE chunk_terms v
        SET document = p.document, collection = p.collection, access_set = p.access_set,
            language = p.language, valid_from = p.valid_from, valid_until = p.valid_until
        FROM unnest(ids) AS w (chunk) CROSS JOIN LATERAL place_of(w.chunk) AS p
        WHERE v.tenant = t AND v.chunk = w.chunk AND v.generation = wanted_generation
          AND (v.document, v.collection, v.access_set, v.language, v.valid_from, v.valid_until,
               v.counted)
              IS DISTINCT FROM (p.document, p.collection, p.access_set, p.language, p.valid_from,
                                p.valid_until, p.valid_until > now());
    RETURN QUERY
        SELECT c.id,
               c.unembedded IS NOT NULL
               OR EXISTS (SELECT FROM chunk_vector v WHERE v.tenant = t
                          AND v.chunk = c.id AND v.generation = wanted_generation),
               c.unembedded IS NOT NULL
               OR EXISTS (SELECT FROM chunk_states v WHERE v.tenant = t
                          AND v.chunk = c.id AND v.generation = wanted_generation),
               EXISTS (SELECT FROM chunk_terms v WHERE v.tenant = t
                       AND v.chunk = c.id AND v.generation = wanted_generation)
        FROM chunk c
        WHERE c.tenant = t AND c.id = ANY (ids)
        ORDER BY c.id;
END $$;

-- Sums and samples of what has doubled since it was last looked at; of each collection, those of
-- one access set by themselves. Returns how many were made anew.
CREATE FUNCTION refresh_frames(wanted_generation int, sampled int) RETURNS int
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
        WHERE x.number <= sampled
        ON CONFLICT DO NOTHING;
    RETURN cardinality(names);
END $$;

-- Candidate search. Each function runs as the owner, takes the tenant and the permissions from
-- the transaction's settings, and returns nothing without them. Ids and scores only: text is
-- read afterwards, through row-level security.

-- What a filter may ask about a document: its metadata, and a few facts under names of their own.
CREATE FUNCTION document_facts(d document) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = vademecum, public, pg_temp
AS $$
    SELECT d.metadata || jsonb_build_object(
        'document.language', d.language,
        'document.collection', d.collection,
        'document.uri', d.uri,
        'document.version', coalesce(d.version, (
            SELECT r.number FROM revision r
            WHERE r.tenant = d.tenant AND r.id = d.current_revision)),
        'document.updated_at', to_char(d.updated_at AT TIME ZONE 'UTC',
                                       'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
$$;

-- The documents whose facts a filter matches, of those that the transaction may see; NULL without
-- a filter.
CREATE FUNCTION matching_documents(
    wanted_filter jsonpath, wanted_values jsonb, wanted_collections text[]
) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
BEGIN
    IF wanted_filter IS NULL THEN RETURN NULL; END IF;
    RETURN ARRAY(
        SELECT d.id FROM document d
        WHERE d.tenant = t AND d.access_set = ANY (sets)
          AND (wanted_collections IS NULL OR d.collection = ANY (wanted_collections))
          AND jsonb_path_match(document_facts(d), wanted_filter, wanted_values, true));
END $$;

-- How many chunks of the generation, and of them how many hold each term, of what may be seen.
CREATE FUNCTION term_statistics(
    wanted_generation int, wanted_terms int[], wanted_collections text[]
) RETURNS TABLE (term int, chunks bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
BEGIN
    RETURN QUERY
        SELECT c.term, sum(c.chunks)::bigint
        FROM term_counts c
        WHERE c.tenant = t AND c.generation = wanted_generation AND c.term = ANY (wanted_terms)
          AND c.access_set = ANY (sets)
          AND (wanted_collections IS NULL OR c.collection = ANY (wanted_collections))
        GROUP BY c.term
        HAVING sum(c.chunks) > 0;
END $$;

-- How many chunks of each language, and in all, may be seen.
CREATE FUNCTION language_statistics(wanted_generation int, wanted_collections text[])
RETURNS TABLE (term int, chunks bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
BEGIN
    RETURN QUERY
        SELECT c.term, sum(c.chunks)::bigint
        FROM term_counts c
        WHERE c.tenant = t AND c.generation = wanted_generation AND c.term <= 0
          AND c.access_set = ANY (sets)
          AND (wanted_collections IS NULL OR c.collection = ANY (wanted_collections))
        GROUP BY c.term
        HAVING sum(c.chunks) > 0;
END $$;

-- `ordered_terms` come rarest first, with the chunks that hold each. Only chunks that hold one of
-- the rarest are scored, of as many terms as make `budget` chunks; of more where too few are found.
CREATE FUNCTION search_keyword(
    wanted_generation int, ordered_terms int[], frequencies bigint[], query sparsevec,
    wanted_collections text[], wanted_day date, wanted_documents uuid[], wanted int, budget bigint
) RETURNS TABLE (chunk uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
-- The terms' own index, never the tenant's: what of it is another tenant's cannot be much, since
-- terms are hashed with the tenant's name.
SET enable_seqscan = off
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
    moment timestamptz := moment_of(wanted_day);
    every int := cardinality(ordered_terms);
    taken int := 0;
    mass bigint := 0;
    ids uuid[];
    scores double precision[];
BEGIN
    IF t IS NULL OR every = 0 THEN RETURN; END IF;
    IF cardinality(wanted_documents) <= 2000 THEN
        RETURN QUERY
            SELECT c.chunk, -(c.weights <#> query)
            FROM unnest(wanted_documents) AS w (document)
            CROSS JOIN LATERAL (
                SELECT x.chunk, x.weights, x.terms, x.collection, x.access_set, x.generation,
                       x.valid_from, x.valid_until
                FROM chunk_terms x WHERE x.tenant = t AND x.document = w.document OFFSET 0) AS c
            WHERE c.terms && ordered_terms AND c.generation = wanted_generation
              AND c.access_set = ANY (sets)
              AND c.valid_from <= moment AND c.valid_until > moment
              AND (wanted_collections IS NULL OR c.collection = ANY (wanted_collections))
            ORDER BY c.weights <#> query, c.chunk
            LIMIT wanted;
        RETURN;
    END IF;
    LOOP
        WHILE taken < every AND (taken = 0 OR mass < budget) LOOP
            taken := taken + 1;
            mass := mass + frequencies[taken];
        END LOOP;
        SELECT array_agg(f.chunk), array_agg(f.score) INTO ids, scores
        FROM (
            SELECT c.chunk, -(c.weights <#> query) AS score
            FROM (SELECT x.* FROM chunk_terms x WHERE x.terms && ordered_terms[:taken] OFFSET 0)
                AS c
            WHERE c.tenant = t AND c.generation = wanted_generation AND c.access_set = ANY (sets)
              AND c.valid_from <= moment AND c.valid_until > moment
              AND (wanted_collections IS NULL OR c.collection = ANY (wanted_collections))
              AND (wanted_documents IS NULL OR c.document = ANY (wanted_documents))
            ORDER BY c.weights <#> query, c.chunk
            LIMIT wanted) AS f;
        EXIT WHEN taken = every OR cardinality(ids) >= wanted;
        budget := greatest(4 * budget, mass + 1);
    END LOOP;
    RETURN QUERY SELECT u.chunk, u.score FROM unnest(ids, scores) AS u (chunk, score);
END $$;

-- The chunks whose vectors are nearest to a query by cosine, in no order that counts; of one
-- language, or of all but `other_than`. Small sets are compared one by one; a graph, where there is one, serves
-- large ones and never the past. `plan` tells which.
CREATE FUNCTION nearest_chunks(
    wanted_generation int, query halfvec, wanted_language text, other_than text[],
    wanted_collections text[], wanted_day date, wanted_documents uuid[], wanted int,
    exact_below bigint, OUT chunks uuid[], OUT plan text
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
    moment timestamptz := moment_of(wanted_day);
    graph boolean := EXISTS (
        SELECT FROM pg_index i
        WHERE i.indexrelid = to_regclass(format('vademecum.chunk_vector_graph_%s',
                                                wanted_generation))
          AND i.indisvalid);
    allowed bigint;
BEGIN
    plan := 'exact';
    IF wanted_documents IS NOT NULL AND cardinality(wanted_documents) <= 2000 THEN
        chunks := ARRAY(
            SELECT v.chunk
            FROM unnest(wanted_documents) AS w (document)
            CROSS JOIN LATERAL (
                SELECT x.chunk, x.embedding, x.collection, x.access_set, x.generation, x.language,
                       x.valid_from, x.valid_until
                FROM chunk_vector x WHERE x.tenant = t AND x.document = w.document OFFSET 0) AS v
            WHERE v.generation = wanted_generation AND v.access_set = ANY (sets)
              AND v.valid_from <= moment AND v.valid_until > moment
              AND (wanted_language IS NULL OR v.language = wanted_language)
              AND v.language <> ALL (other_than)
              AND (wanted_collections IS NULL OR v.collection = ANY (wanted_collections))
            ORDER BY v.embedding <=> query, v.chunk
            LIMIT wanted);
        RETURN;
    END IF;
    IF wanted_day IS NULL THEN
        -- What is counted is all that is in force now.
        SELECT coalesce(sum(s.chunks), 0) INTO allowed
            FROM language_statistics(wanted_generation, wanted_collections) AS s
            WHERE CASE WHEN wanted_language IS NOT NULL THEN s.term = language_term(wanted_language)
                       ELSE s.term < 0
                            AND s.term <> ALL (ARRAY(SELECT language_term(x.name)
                                                     FROM unnest(other_than) AS x (name))) END;
        IF allowed = 0 THEN
            chunks := '{}';
            RETURN;
        END IF;
        IF graph AND allowed > exact_below THEN
            plan := 'graph';
            -- More than wanted are taken, since the graph's order is only nearly right.
            PERFORM set_config('hnsw.ef_search', least(1000, greatest(100, 2 * wanted))::text, true),
                    set_config('hnsw.iterative_scan', 'relaxed_order', true);
            EXECUTE format($graph$
                SELECT array_agg(n.chunk) FROM (
                    SELECT v.chunk
                    FROM chunk_vector v
                    WHERE v.generation = %1$s AND v.valid_until = 'infinity'
                      AND v.tenant = $1 AND v.access_set = ANY ($2) AND v.valid_from <= $3
                      AND ($4 IS NULL OR v.language = $4) AND v.language <> ALL ($9)
                      AND ($5 IS NULL OR v.collection = ANY ($5))
                      AND ($6 IS NULL OR v.document = ANY ($6))
                    ORDER BY v.embedding::halfvec(%2$s) <=> $7
                    LIMIT $8) AS n
                $graph$, wanted_generation, vector_dims(query))
                INTO chunks
                USING t, sets, moment, wanted_language, wanted_collections, wanted_documents,
                      query, 2 * wanted, other_than;
            -- What has a last day is not in the graph; and what it did not find is looked for.
            IF cardinality(chunks) >= wanted THEN
                chunks := chunks || ARRAY(
                    SELECT v.chunk FROM chunk_vector v
                    WHERE v.tenant = t AND v.generation = wanted_generation
                      AND v.valid_until < 'infinity' AND v.valid_until > moment
                      AND v.valid_from <= moment AND v.access_set = ANY (sets)
                      AND (wanted_language IS NULL OR v.language = wanted_language)
                      AND v.language <> ALL (other_than)
                      AND (wanted_collections IS NULL OR v.collection = ANY (wanted_collections))
                      AND (wanted_documents IS NULL OR v.document = ANY (wanted_documents))
                    ORDER BY v.embedding <=> query LIMIT wanted);
                RETURN;
            END IF;
            plan := 'exact after graph';
        END IF;
    END IF;
    chunks := ARRAY(
        SELECT v.chunk
        FROM chunk_vector v
        WHERE v.tenant = t AND v.generation = wanted_generation AND v.access_set = ANY (sets)
          AND v.valid_from <= moment AND v.valid_until > moment
          AND (wanted_language IS NULL OR v.language = wanted_language)
          AND v.language <> ALL (other_than)
          AND (wanted_collections IS NULL OR v.collection = ANY (wanted_collections))
          AND (wanted_documents IS NULL OR v.document = ANY (wanted_documents))
        ORDER BY v.embedding <=> query, v.chunk
        LIMIT wanted);
END $$;
-- The few rows with a last day, beside a graph that holds the others.
CREATE INDEX chunk_vector_ending ON chunk_vector (tenant, valid_until)
    WHERE valid_until < 'infinity';

-- The mean vector of each language of a collection that has at least `fewest` chunks of it, of
-- what the transaction may see.
CREATE FUNCTION language_means(
    wanted_generation int, wanted_collections text[], fewest int
) RETURNS TABLE (collection text, language text, mean halfvec)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
BEGIN
    RETURN QUERY
        SELECT m.collection, m.language,
               (sum(m.total) * array_fill((1.0 / sum(m.chunks))::real,
                                          ARRAY[vector_dims(sum(m.total))])::vector)::halfvec
        FROM language_total m
        WHERE m.tenant = t AND m.generation = wanted_generation AND m.access_set = ANY (sets)
          AND (wanted_collections IS NULL OR m.collection = ANY (wanted_collections))
        GROUP BY 1, 2
        HAVING sum(m.chunks) >= fewest;
END $$;

-- The dense leg. Where the searched collections hold at least two languages of `fewest` chunks
-- each (`mixed`), a score is the cosine less the one of the language's mean vector: how much nearer
-- than a usual text of its language; else the language would count more than the meaning. `low` is the lowest score of a
-- sample of what may be seen, NULL where there is too little of it.
CREATE FUNCTION search_dense(
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
    languages text[];
    name text;
    found record;
    ids uuid[] := '{}';
    plans text[] := '{}';
BEGIN
    IF t IS NULL THEN RETURN; END IF;
    languages := ARRAY(
        SELECT DISTINCT m.language
        FROM language_means(wanted_generation, wanted_collections, fewest) AS m);
    mixed := cardinality(languages) > 1;
    IF NOT mixed THEN languages := '{}'; END IF;
    -- Each language by itself, then all that are left.
    FOREACH name IN ARRAY languages || NULL::text LOOP
        SELECT * INTO found FROM nearest_chunks(
            wanted_generation, query, name,
            CASE WHEN name IS NULL THEN languages ELSE '{}' END,
            wanted_collections, wanted_day, wanted_documents, wanted, exact_below);
        ids := ids || found.chunks;
        plans := plans || found.plan;
    END LOOP;
    plan := array_to_string(ARRAY(SELECT DISTINCT p FROM unnest(plans) AS p ORDER BY p), ', ');
    RETURN QUERY
        WITH usual AS MATERIALIZED (
            SELECT m.collection, m.language, -(m.mean <#> query) AS cosine
            FROM language_means(wanted_generation, wanted_collections, fewest) AS m
            WHERE search_dense.mixed
        ), common AS MATERIALIZED (
            -- For rows of a language, or of a collection, too small for a mean of its own.
            SELECT coalesce(avg(u.cosine), 0) AS cosine FROM usual u
        ), sampled_rows AS MATERIALIZED (
            SELECT s.collection, s.language, s.embedding
            FROM vector_sample s
            WHERE s.tenant = t AND s.generation = wanted_generation AND s.access_set = ANY (sets)
              AND (wanted_collections IS NULL OR s.collection = ANY (wanted_collections))
            ORDER BY s.place LIMIT sampled
        ), lowest AS (
            SELECT CASE WHEN count(*) >= fewest
                   THEN min(1 - (s.embedding <=> query) - coalesce(u.cosine, c.cosine)) END
                   AS score
            FROM sampled_rows s CROSS JOIN common c
            LEFT JOIN usual u USING (collection, language)
        ), compared AS (
            SELECT v.chunk AS id,
                   1 - (v.embedding <=> query) - coalesce(u.cosine, c.cosine) AS score
            FROM chunk_vector v CROSS JOIN common c
            LEFT JOIN usual u USING (collection, language)
            WHERE v.tenant = t AND v.chunk = ANY (ids) AND v.generation = wanted_generation
        )
        SELECT x.id, x.score, (SELECT lowest.score FROM lowest), search_dense.mixed,
               search_dense.plan
        FROM compared x
        ORDER BY x.score DESC, x.id
        LIMIT wanted;
END $$;

-- Token states of chunks that the transaction may see.
CREATE FUNCTION token_signs(wanted_generation int, wanted_chunks uuid[])
RETURNS TABLE (chunk uuid, signs bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
BEGIN
    RETURN QUERY
        SELECT w.chunk, s.signs
        FROM unnest(wanted_chunks) AS w (chunk)
        JOIN chunk_vector v ON v.tenant = t AND v.chunk = w.chunk
             AND v.generation = wanted_generation AND v.access_set = ANY (sets)
        JOIN chunk_states s ON s.tenant = t AND s.chunk = w.chunk
             AND s.generation = wanted_generation;
END $$;

REVOKE ALL ON FUNCTION forget_audit, set_counted, count_terms, fold_terms, place_of, index_vectors, index_terms,
    known_vectors, index_access, check_index, refresh_frames, document_facts, matching_documents,
    term_statistics, language_statistics, search_keyword, nearest_chunks, language_means,
    search_dense, token_signs FROM PUBLIC;
GRANT EXECUTE ON FUNCTION forget_audit, fold_terms, index_vectors, index_terms, known_vectors, index_access,
    check_index, refresh_frames, matching_documents, term_statistics, language_statistics,
    search_keyword, search_dense, token_signs TO vademecum_app;
