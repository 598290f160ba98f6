-- Revisions in force on a date, deliveries out of order, an outbox of changes, fair queueing.

-- A document's metadata is what it says of itself under what its caller says of it; a revision
-- keeps what was asked for it, so that the same question can be told from another.
ALTER TABLE document ADD given_metadata jsonb;
UPDATE document SET given_metadata = metadata;
ALTER TABLE document ALTER given_metadata SET NOT NULL;

-- A revision is in force in [valid_from, valid_until); both are set when it is published.
ALTER TABLE revision
    ADD asked_chunker text,
    ADD found_metadata jsonb NOT NULL DEFAULT '{}',
    ADD unread text[] NOT NULL DEFAULT '{}',
    ADD effective_from date,
    ADD effective_until date,
    ADD valid_from timestamptz,
    ADD valid_until timestamptz;
UPDATE revision r
    SET effective_from = d.effective_from, effective_until = d.effective_until,
        valid_from = coalesce(d.effective_from::timestamp AT TIME ZONE 'UTC',
                              CASE WHEN d.effective_until IS NULL THEN r.published_at
                                   ELSE '-infinity' END),
        valid_until = coalesce((d.effective_until + 1)::timestamp AT TIME ZONE 'UTC', 'infinity')
    FROM document d
    WHERE d.tenant = r.tenant AND d.current_revision = r.id;
ALTER TABLE document DROP effective_from, DROP effective_until;
CREATE INDEX revision_retired ON revision (valid_until)
    WHERE valid_until IS NOT NULL AND valid_until < 'infinity';
CREATE INDEX revision_document ON revision (tenant, document, number);

-- Why a chunk has no vector and will not be tried again; NULL where it has one, or waits for it.
ALTER TABLE chunk ADD unembedded text;
-- The vectors that a tenant has already are found by text.
CREATE INDEX chunk_text_hash ON chunk (tenant, text_hash);

-- Written as a value and not as EXISTS, which is planned as a hash of every document that the
-- transaction may see, though a statement touches the rows of one.
ALTER POLICY visible ON revision
    USING (tenant = current_tenant()
           AND (SELECT true FROM document d
                WHERE d.tenant = revision.tenant AND d.id = revision.document));
ALTER POLICY visible ON chunk
    USING (tenant = current_tenant()
           AND (SELECT true FROM document d
                WHERE d.tenant = chunk.tenant AND d.id = chunk.document));

ALTER TABLE chunk_vector
    ADD valid_from timestamptz NOT NULL DEFAULT '-infinity',
    ADD valid_until timestamptz NOT NULL DEFAULT 'infinity';
ALTER TABLE chunk_terms
    ADD valid_from timestamptz NOT NULL DEFAULT '-infinity',
    ADD valid_until timestamptz NOT NULL DEFAULT 'infinity';
UPDATE chunk_vector v SET valid_from = r.valid_from, valid_until = r.valid_until
    FROM chunk c JOIN revision r ON r.tenant = c.tenant AND r.id = c.revision
    WHERE c.tenant = v.tenant AND c.id = v.chunk;
UPDATE chunk_terms v SET valid_from = r.valid_from, valid_until = r.valid_until
    FROM chunk c JOIN revision r ON r.tenant = c.tenant AND r.id = c.revision
    WHERE c.tenant = v.tenant AND c.id = v.chunk;
ALTER TABLE chunk_vector ALTER valid_from DROP DEFAULT, ALTER valid_until DROP DEFAULT;
ALTER TABLE chunk_terms ALTER valid_from DROP DEFAULT, ALTER valid_until DROP DEFAULT;

-- The highest version that a source has delivered of a document, also after its deletion. The
-- key is a hash, so that nothing of a deleted document is left here.
CREATE TABLE source_version (
    tenant text NOT NULL,
    key text NOT NULL,
    version bigint NOT NULL,
    deleted boolean NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, key)
);

-- The outbox: what changed, by id only. A consumer reads in the order of (xid, id) and only below
-- the oldest transaction that still runs: ids alone come to light out of order.
CREATE TABLE change_event (
    tenant text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    kind text NOT NULL CHECK (kind IN ('published', 'changed', 'deleted')),
    document uuid NOT NULL,
    revision uuid,
    occurred_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id)
);
CREATE INDEX change_event_order ON change_event (tenant, xid, id);
CREATE INDEX change_event_age ON change_event (occurred_at);

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['source_version', 'change_event'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO vademecum_app', name);
    END LOOP;
END $$;
CREATE POLICY visible ON source_version USING (tenant = current_tenant());
-- Whoever may write a document makes its event; only an operator follows them.
CREATE POLICY made ON change_event FOR INSERT WITH CHECK (tenant = current_tenant());
CREATE POLICY visible ON change_event FOR SELECT
    USING (tenant = current_tenant() AND is_operator());
CREATE POLICY removed ON change_event FOR DELETE
    USING (tenant = current_tenant() AND is_operator());

-- The moment that a search is about: the end of a day, or now.
CREATE FUNCTION moment_of(wanted_day date) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = vademecum, public, pg_temp
AS $$
    SELECT coalesce((wanted_day + 1)::timestamp AT TIME ZONE 'UTC' - interval '1 microsecond', now())
$$;

DROP FUNCTION search_dense, term_statistics, search_keyword, current_vectors, index_chunk;

CREATE FUNCTION search_dense(
    wanted_generation int, query halfvec, wanted_collections text[], wanted_day date, wanted int
) RETURNS TABLE (chunk uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
    moment timestamptz := moment_of(wanted_day);
BEGIN
    IF t IS NULL THEN RETURN; END IF;
    RETURN QUERY
        SELECT v.chunk, 1 - (v.embedding <=> query)
        FROM chunk_vector v
        WHERE v.tenant = t
          AND v.generation = wanted_generation
          AND v.access_set = ANY (sets)
          AND v.valid_from <= moment AND v.valid_until > moment
          AND (wanted_collections IS NULL OR v.collection = ANY (wanted_collections))
        ORDER BY v.embedding <=> query, v.chunk
        LIMIT wanted;
END $$;

CREATE FUNCTION term_statistics(
    wanted_generation int, wanted_terms int[], wanted_collections text[], wanted_day date
) RETURNS TABLE (term int, chunks bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
    moment timestamptz := moment_of(wanted_day);
BEGIN
    IF t IS NULL THEN RETURN; END IF;
    -- Term 0 stands for "any term": how many chunks there are. Real terms are 1 and above.
    RETURN QUERY
        SELECT 0, count(*) FROM chunk_terms c
        WHERE c.tenant = t AND c.generation = wanted_generation AND c.access_set = ANY (sets)
          AND c.valid_from <= moment AND c.valid_until > moment
          AND (wanted_collections IS NULL OR c.collection = ANY (wanted_collections));
    RETURN QUERY
        SELECT w.term, (
            SELECT count(*) FROM chunk_terms c
            WHERE c.terms @> ARRAY[w.term]
              AND c.tenant = t AND c.generation = wanted_generation AND c.access_set = ANY (sets)
              AND c.valid_from <= moment AND c.valid_until > moment
              AND (wanted_collections IS NULL OR c.collection = ANY (wanted_collections)))
        FROM unnest(wanted_terms) AS w (term);
END $$;

CREATE FUNCTION search_keyword(
    wanted_generation int, wanted_terms int[], query sparsevec, wanted_collections text[],
    wanted_day date, wanted int
) RETURNS TABLE (chunk uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
    moment timestamptz := moment_of(wanted_day);
BEGIN
    IF t IS NULL THEN RETURN; END IF;
    RETURN QUERY
        SELECT c.chunk, -(c.weights <#> query)
        FROM chunk_terms c
        WHERE c.terms && wanted_terms
          AND c.tenant = t AND c.generation = wanted_generation AND c.access_set = ANY (sets)
          AND c.valid_from <= moment AND c.valid_until > moment
          AND (wanted_collections IS NULL OR c.collection = ANY (wanted_collections))
        ORDER BY c.weights <#> query, c.chunk
        LIMIT wanted;
END $$;

-- The index is its own cache: a text that any of the tenant's chunks has costs nothing again, and
-- what is deleted leaves no copy behind.
CREATE FUNCTION known_vectors(wanted_generation int, wanted_hashes text[])
RETURNS TABLE (text_hash text, embedding halfvec)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
BEGIN
    -- OFFSET 0 keeps each step a look into one index, whatever the tables' statistics say.
    RETURN QUERY
        SELECT w.hash, found.embedding
        FROM unnest(wanted_hashes) AS w (hash)
        CROSS JOIN LATERAL (
            SELECT v.embedding
            FROM chunk c CROSS JOIN LATERAL (
                SELECT p.embedding FROM chunk_vector p
                WHERE p.tenant = t AND p.chunk = c.id AND p.generation = wanted_generation
                OFFSET 0) AS v
            WHERE c.tenant = t AND c.text_hash = w.hash
            LIMIT 1) AS found;
END $$;

-- A row's place (collection, permissions, language, validity) is read from the truth, never
-- passed in. A row that is there already stays as it is.
CREATE FUNCTION index_vectors(wanted_generation int, chunks uuid[], embeddings halfvec[])
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
BEGIN
    INSERT INTO chunk_vector (tenant, chunk, generation, collection, access_set, language,
                              valid_from, valid_until, embedding)
        SELECT t, w.chunk, wanted_generation, place.collection, place.access_set, place.language,
               place.valid_from, place.valid_until, w.embedding
        FROM unnest(chunks, embeddings) AS w (chunk, embedding)
        CROSS JOIN LATERAL (
            SELECT c.language, p.*
            FROM chunk c CROSS JOIN LATERAL (
                SELECT d.collection, d.access_set, r.valid_from, r.valid_until
                FROM revision r JOIN document d ON d.tenant = t AND d.id = r.document
                WHERE r.tenant = t AND r.id = c.revision
                OFFSET 0) AS p
            WHERE c.tenant = t AND c.id = w.chunk
            OFFSET 0) AS place
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
    INSERT INTO chunk_terms (tenant, chunk, generation, collection, access_set,
                             valid_from, valid_until, terms, weights)
        SELECT t, w.chunk, wanted_generation, place.collection, place.access_set,
               place.valid_from, place.valid_until, w.terms::int[], w.weights
        FROM unnest(chunks, index_terms.terms, index_terms.weights) AS w (chunk, terms, weights)
        CROSS JOIN LATERAL (
            SELECT c.language, p.*
            FROM chunk c CROSS JOIN LATERAL (
                SELECT d.collection, d.access_set, r.valid_from, r.valid_until
                FROM revision r JOIN document d ON d.tenant = t AND d.id = r.document
                WHERE r.tenant = t AND r.id = c.revision
                OFFSET 0) AS p
            WHERE c.tenant = t AND c.id = w.chunk
            OFFSET 0) AS place
        ON CONFLICT DO NOTHING;
END $$;

-- When is each revision of a document in force? From the day that it names, else from its
-- publication, until a newer one is or until the end of the last day that it names. The first
-- one without a first day but with a last one was in force before we knew it.
CREATE FUNCTION set_validity(wanted_document uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    moved record;
    ids uuid[];
BEGIN
    FOR moved IN
        WITH own AS (
            SELECT r.id, r.number,
                   coalesce(r.effective_from::timestamp AT TIME ZONE 'UTC',
                            CASE WHEN r.effective_until IS NOT NULL
                                      AND r.number = min(r.number) OVER ()
                                 THEN '-infinity' ELSE r.published_at END) AS begins,
                   coalesce((r.effective_until + 1)::timestamp AT TIME ZONE 'UTC', 'infinity')
                       AS ends
            FROM revision r
            WHERE r.tenant = t AND r.document = wanted_document AND r.valid_from IS NOT NULL
        ), force AS (
            SELECT own.id, own.begins,
                   greatest(own.begins, least(own.ends, min(own.begins) OVER (
                       ORDER BY own.number ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)))
                       AS ends
            FROM own
        )
        UPDATE revision r SET valid_from = force.begins, valid_until = force.ends
            FROM force
            WHERE r.tenant = t AND r.id = force.id
              AND (r.valid_from, r.valid_until) IS DISTINCT FROM (force.begins, force.ends)
            RETURNING r.id, r.valid_from, r.valid_until
    LOOP
        ids := ARRAY(SELECT c.id FROM chunk c WHERE c.tenant = t AND c.revision = moved.id);
        UPDATE chunk_vector v SET valid_from = moved.valid_from, valid_until = moved.valid_until
            WHERE v.tenant = t AND v.chunk = ANY (ids);
        UPDATE chunk_terms v SET valid_from = moved.valid_from, valid_until = moved.valid_until
            WHERE v.tenant = t AND v.chunk = ANY (ids);
    END LOOP;
END $$;

-- A tenant's next job comes after its last one, but not before what is being served: whoever
-- brings ten thousand documents does not hold up who brings one. Priorities are minus that place.
CREATE INDEX procrastinate_jobs_tenant ON procrastinate_jobs ((args ->> 'tenant'), priority)
    WHERE status = 'todo';
CREATE OR REPLACE FUNCTION enqueue_ingestion(wanted_revision uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    served int := coalesce((SELECT max(j.priority) FROM procrastinate_jobs j
                            WHERE j.status = 'todo'), 0);
    mine int := (SELECT min(j.priority) FROM procrastinate_jobs j
                 WHERE j.status = 'todo' AND j.args ->> 'tenant' = t);
BEGIN
    INSERT INTO tenant (id) VALUES (t) ON CONFLICT DO NOTHING;
    PERFORM procrastinate_defer_jobs_v1(ARRAY[ROW(
        'ingest', 'ingest', least(served, coalesce(mine - 1, served)), NULL, wanted_revision::text,
        jsonb_build_object('tenant', t, 'revision', wanted_revision), NULL
    )::procrastinate_job_to_defer_v1]);
EXCEPTION WHEN unique_violation THEN
    NULL;  -- it waits in the queue already
END $$;

-- For the reconciler, which goes over all tenants.
CREATE FUNCTION tenants() RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$ SELECT id FROM tenant ORDER BY id $$;

-- Chunks after `after` in the order of their ids, at most `wanted`, with what the index has of
-- them. A row whose place differs from the truth is put right on the way.
CREATE FUNCTION check_index(wanted_generation int, after uuid, wanted int)
RETURNS TABLE (chunk uuid, has_vector boolean, has_terms boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    ids uuid[] := ARRAY(SELECT c.id FROM chunk c
                        WHERE c.tenant = t AND c.id > after ORDER BY c.id LIMIT wanted);
BEGIN
    UPDATE chunk_vector v
        SET collection = d.collection, access_set = d.access_set, language = c.language,
            valid_from = r.valid_from, valid_until = r.valid_until
        FROM chunk c
        JOIN revision r ON r.tenant = c.tenant AND r.id = c.revision
        JOIN document d ON d.tenant = c.tenant AND d.id = c.document
        WHERE c.tenant = t AND c.id = ANY (ids)
          AND v.tenant = t AND v.chunk = c.id AND v.generation = wanted_generation
          AND (v.collection, v.access_set, v.language, v.valid_from, v.valid_until)
              IS DISTINCT FROM
              (d.collection, d.access_set, c.language, r.valid_from, r.valid_until);
    UPDATE chunk_terms v
        SET collection = d.collection, access_set = d.access_set,
            valid_from = r.valid_from, valid_until = r.valid_until
        FROM chunk c
        JOIN revision r ON r.tenant = c.tenant AND r.id = c.revision
        JOIN document d ON d.tenant = c.tenant AND d.id = c.document
        WHERE c.tenant = t AND c.id = ANY (ids)
          AND v.tenant = t AND v.chunk = c.id AND v.generation = wanted_generation
          AND (v.collection, v.access_set, v.valid_from, v.valid_until)
              IS DISTINCT FROM (d.collection, d.access_set, r.valid_from, r.valid_until);
    RETURN QUERY
        SELECT c.id,
               c.unembedded IS NOT NULL
               OR EXISTS (SELECT FROM chunk_vector v WHERE v.tenant = t
                          AND v.chunk = c.id AND v.generation = wanted_generation),
               EXISTS (SELECT FROM chunk_terms v WHERE v.tenant = t
                       AND v.chunk = c.id AND v.generation = wanted_generation)
        FROM chunk c
        WHERE c.tenant = t AND c.id = ANY (ids)
        ORDER BY c.id;
END $$;

REVOKE ALL ON FUNCTION tenants() FROM PUBLIC;
REVOKE ALL ON FUNCTION search_dense, term_statistics, search_keyword, known_vectors,
    index_vectors, index_terms, set_validity, check_index FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_dense, term_statistics, search_keyword, known_vectors,
    index_vectors, index_terms, set_validity, check_index TO vademecum_app;
GRANT EXECUTE ON FUNCTION tenants() TO vademecum_worker;
