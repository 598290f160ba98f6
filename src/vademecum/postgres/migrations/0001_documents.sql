-- Documents and their revisions and chunks, the index over them, and what was asked.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- What a transaction may see is told by four settings, set for the transaction only. Without
-- them nothing is visible.
CREATE FUNCTION current_tenant() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = vademecum, public, pg_temp
AS $$ SELECT nullif(current_setting('vademecum.tenant', true), '') $$;

CREATE FUNCTION current_principal() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = vademecum, public, pg_temp
AS $$ SELECT nullif(current_setting('vademecum.principal', true), '') $$;

CREATE FUNCTION is_operator() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = vademecum, public, pg_temp
AS $$ SELECT coalesce(current_setting('vademecum.operator', true) = 'on', false) $$;

-- Whose work there may be; the app role has no grant on it.
CREATE TABLE tenant (
    id text PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Index builds. These two tables hold no tenant's data.
CREATE TABLE embedding_space (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    provider text NOT NULL,
    model text NOT NULL,
    revision text NOT NULL,
    dimension int NOT NULL CHECK (dimension BETWEEN 1 AND 4000),
    metric text NOT NULL,
    query_prefix text NOT NULL,
    passage_prefix text NOT NULL,
    UNIQUE (provider, model, revision, dimension, metric, query_prefix, passage_prefix)
);

CREATE TABLE index_generation (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space int NOT NULL REFERENCES embedding_space,
    analyser text NOT NULL,
    average_length real NOT NULL CHECK (average_length > 0),
    state text NOT NULL CHECK (state IN ('building', 'current', 'retired')),
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX index_generation_one_current ON index_generation (state)
    WHERE state = 'current';

-- Documents with the same labels share one access set, so that a permission is one integer.
CREATE TABLE access_set (
    tenant text NOT NULL,
    id int GENERATED ALWAYS AS IDENTITY,
    labels text[] NOT NULL,
    labels_key text NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, labels_key)
);

CREATE TABLE document (
    tenant text NOT NULL,
    id uuid NOT NULL,
    collection text NOT NULL,
    uri text NOT NULL,
    title text NOT NULL,
    access_set int NOT NULL,
    metadata jsonb NOT NULL,
    language text NOT NULL,
    current_revision uuid,
    effective_from date,
    effective_until date,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, access_set) REFERENCES access_set (tenant, id)
);
CREATE UNIQUE INDEX document_uri ON document (tenant, collection, md5(uri));

CREATE TABLE revision (
    tenant text NOT NULL,
    id uuid NOT NULL,
    document uuid NOT NULL,
    number int NOT NULL,
    state text NOT NULL,
    reason text NOT NULL DEFAULT '',
    blob text NOT NULL,
    content_hash text NOT NULL,
    fingerprint text NOT NULL,
    asked_title text,
    asked_language text,
    title text NOT NULL DEFAULT '',
    language text NOT NULL DEFAULT '',
    media_type text NOT NULL DEFAULT '',
    text text NOT NULL DEFAULT '',
    page_starts int[] NOT NULL DEFAULT '{}',
    warnings text[] NOT NULL DEFAULT '{}',
    chunks int NOT NULL DEFAULT 0,
    new_chunks int NOT NULL DEFAULT 0,
    embedded int NOT NULL DEFAULT 0,
    ingested_by text NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    claim uuid,
    lease_until timestamptz,
    accepted_at timestamptz NOT NULL DEFAULT now(),
    published_at timestamptz,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, document, number),
    FOREIGN KEY (tenant, document) REFERENCES document (tenant, id) ON DELETE CASCADE
);
CREATE INDEX revision_waiting ON revision (accepted_at) WHERE state = 'accepted';
CREATE INDEX revision_blob ON revision (tenant, blob);

CREATE TABLE chunk (
    tenant text NOT NULL,
    id uuid NOT NULL,
    document uuid NOT NULL,
    revision uuid NOT NULL,
    ordinal int NOT NULL,
    start_offset int NOT NULL,
    end_offset int NOT NULL CHECK (end_offset > start_offset),
    tokens int NOT NULL,
    heading_path text[] NOT NULL,
    page_start int,
    page_end int,
    page_breaks int[] NOT NULL DEFAULT '{}',
    language text NOT NULL,
    text text NOT NULL,
    context text NOT NULL,
    text_hash text NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, revision, ordinal),
    FOREIGN KEY (tenant, revision) REFERENCES revision (tenant, id) ON DELETE CASCADE
);
CREATE INDEX chunk_document ON chunk (tenant, document);

-- The two index tables. They have no row-level security and no grant to the app role: only the
-- functions below read and write them. They can be dropped and built again from the chunks.
CREATE TABLE chunk_vector (
    tenant text NOT NULL,
    chunk uuid NOT NULL,
    generation int NOT NULL REFERENCES index_generation,
    collection text NOT NULL,
    access_set int NOT NULL,
    language text NOT NULL,
    embedding halfvec NOT NULL,
    PRIMARY KEY (tenant, chunk, generation),
    FOREIGN KEY (tenant, chunk) REFERENCES chunk (tenant, id) ON DELETE CASCADE
);

CREATE TABLE chunk_terms (
    tenant text NOT NULL,
    chunk uuid NOT NULL,
    generation int NOT NULL REFERENCES index_generation,
    collection text NOT NULL,
    access_set int NOT NULL,
    terms int[] NOT NULL,
    weights sparsevec NOT NULL,
    PRIMARY KEY (tenant, chunk, generation),
    FOREIGN KEY (tenant, chunk) REFERENCES chunk (tenant, id) ON DELETE CASCADE
);
-- Reading one weight vector must not cost a second page, and never a decompression.
ALTER TABLE chunk_terms SET (toast_tuple_target = 8160);
ALTER TABLE chunk_terms ALTER terms SET STORAGE EXTERNAL, ALTER weights SET STORAGE EXTERNAL;
CREATE INDEX chunk_terms_terms ON chunk_terms USING gin (terms);

-- What was said and what happened meanwhile; readable by its principal and by operators.
CREATE TABLE conversation (
    tenant text NOT NULL,
    id uuid NOT NULL,
    principal text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id)
);

CREATE TABLE turn (
    tenant text NOT NULL,
    id uuid NOT NULL,
    conversation uuid NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    principal text NOT NULL,
    role text NOT NULL CHECK (role IN ('user', 'assistant')),
    text text NOT NULL,
    trace uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, conversation) REFERENCES conversation (tenant, id) ON DELETE CASCADE
);
CREATE INDEX turn_conversation ON turn (tenant, conversation, position);

CREATE TABLE trace (
    tenant text NOT NULL,
    id uuid NOT NULL,
    principal text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('search', 'ask')),
    documents uuid[] NOT NULL,
    record jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id)
);
CREATE INDEX trace_documents ON trace USING gin (documents);

-- Which access sets the transaction's principal may see.
CREATE FUNCTION visible_access_sets() RETURNS int[]
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = vademecum, public, pg_temp
AS $$
    SELECT coalesce(array_agg(s.id), '{}')
    FROM access_set s
    WHERE s.tenant = current_tenant()
      AND (is_operator()
           OR s.labels && nullif(current_setting('vademecum.labels', true), '')::text[])
$$;

-- The second wall: even a query that forgot its tenant or its permission returns nothing foreign.
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'access_set', 'document', 'revision', 'chunk', 'conversation', 'turn', 'trace'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO vademecum_app', name);
    END LOOP;
END $$;
CREATE POLICY visible ON access_set USING (tenant = current_tenant());
-- A transaction's access sets are looked up once, not once a row.
CREATE POLICY visible ON document
    USING (tenant = current_tenant()
           AND access_set = ANY ((SELECT visible_access_sets())::int[]))
    WITH CHECK (tenant = current_tenant());
CREATE POLICY visible ON revision
    USING (tenant = current_tenant()
           AND EXISTS (SELECT FROM document d
                       WHERE d.tenant = revision.tenant AND d.id = revision.document))
    WITH CHECK (tenant = current_tenant());
CREATE POLICY visible ON chunk
    USING (tenant = current_tenant()
           AND EXISTS (SELECT FROM document d
                       WHERE d.tenant = chunk.tenant AND d.id = chunk.document))
    WITH CHECK (tenant = current_tenant());
CREATE POLICY visible ON conversation
    USING (tenant = current_tenant() AND (is_operator() OR principal = current_principal()));
CREATE POLICY visible ON turn
    USING (tenant = current_tenant() AND (is_operator() OR principal = current_principal()));
CREATE POLICY visible ON trace
    USING (tenant = current_tenant() AND (is_operator() OR principal = current_principal()));
GRANT SELECT ON embedding_space, index_generation TO vademecum_app;

-- Candidate search. Each function runs as the owner, takes the tenant and the permissions from
-- the transaction's settings, and returns nothing without them. Ids and scores only: text is
-- read afterwards, through row-level security.
CREATE FUNCTION search_dense(
    wanted_generation int, query halfvec, wanted_collections text[], wanted int
) RETURNS TABLE (chunk uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
BEGIN
    IF t IS NULL THEN RETURN; END IF;
    RETURN QUERY
        SELECT v.chunk, 1 - (v.embedding <=> query)
        FROM chunk_vector v
        WHERE v.tenant = t
          AND v.generation = wanted_generation
          AND v.access_set = ANY (sets)
          AND (wanted_collections IS NULL OR v.collection = ANY (wanted_collections))
        ORDER BY v.embedding <=> query, v.chunk
        LIMIT wanted;
END $$;

CREATE FUNCTION term_statistics(
    wanted_generation int, wanted_terms int[], wanted_collections text[]
) RETURNS TABLE (term int, chunks bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
BEGIN
    IF t IS NULL THEN RETURN; END IF;
    -- Term 0 stands for "any term": how many chunks there are. Real terms are 1 and above.
    RETURN QUERY
        SELECT 0, count(*) FROM chunk_terms c
        WHERE c.tenant = t AND c.generation = wanted_generation AND c.access_set = ANY (sets)
          AND (wanted_collections IS NULL OR c.collection = ANY (wanted_collections));
    RETURN QUERY
        SELECT w.term, (
            SELECT count(*) FROM chunk_terms c
            WHERE c.terms @> ARRAY[w.term]
              AND c.tenant = t AND c.generation = wanted_generation AND c.access_set = ANY (sets)
              AND (wanted_collections IS NULL OR c.collection = ANY (wanted_collections)))
        FROM unnest(wanted_terms) AS w (term);
END $$;

CREATE FUNCTION search_keyword(
    wanted_generation int, wanted_terms int[], query sparsevec, wanted_collections text[], wanted int
) RETURNS TABLE (chunk uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    sets int[] := visible_access_sets();
BEGIN
    IF t IS NULL THEN RETURN; END IF;
    RETURN QUERY
        SELECT c.chunk, -(c.weights <#> query)
        FROM chunk_terms c
        WHERE c.terms && wanted_terms
          AND c.tenant = t AND c.generation = wanted_generation AND c.access_set = ANY (sets)
          AND (wanted_collections IS NULL OR c.collection = ANY (wanted_collections))
        ORDER BY c.weights <#> query, c.chunk
        LIMIT wanted;
END $$;

CREATE FUNCTION current_vectors(wanted_document uuid, wanted_generation int)
RETURNS TABLE (text_hash text, embedding halfvec)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    RETURN QUERY
        SELECT c.text_hash, v.embedding
        FROM chunk c
        JOIN chunk_vector v ON v.tenant = c.tenant AND v.chunk = c.id
        WHERE c.tenant = current_tenant() AND c.document = wanted_document
          AND v.generation = wanted_generation;
END $$;

-- The row's place (collection, permissions, language) is read from the truth, never passed in.
CREATE FUNCTION index_chunk(
    wanted_chunk uuid, wanted_generation int, embedding halfvec, terms int[], weights sparsevec
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
BEGIN
    INSERT INTO chunk_vector (tenant, chunk, generation, collection, access_set, language, embedding)
        SELECT t, c.id, wanted_generation, d.collection, d.access_set, c.language,
               index_chunk.embedding
        FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document
        WHERE c.tenant = t AND c.id = wanted_chunk;
    INSERT INTO chunk_terms (tenant, chunk, generation, collection, access_set, terms, weights)
        SELECT t, c.id, wanted_generation, d.collection, d.access_set, index_chunk.terms,
               index_chunk.weights
        FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document
        WHERE c.tenant = t AND c.id = wanted_chunk;
END $$;

CREATE FUNCTION index_access(wanted_document uuid, wanted_access_set int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
BEGIN
    UPDATE chunk_vector v SET access_set = wanted_access_set
        FROM chunk c
        WHERE c.tenant = t AND c.document = wanted_document
          AND v.tenant = t AND v.chunk = c.id;
    UPDATE chunk_terms v SET access_set = wanted_access_set
        FROM chunk c
        WHERE c.tenant = t AND c.document = wanted_document
          AND v.tenant = t AND v.chunk = c.id;
END $$;

-- Counted before and after a deletion, so that its receipt tells what the tables say.
CREATE FUNCTION index_rows(wanted_document uuid) RETURNS TABLE (vectors bigint, keywords bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
BEGIN
    RETURN QUERY SELECT
        (SELECT count(*) FROM chunk_vector v JOIN chunk c ON c.tenant = v.tenant AND c.id = v.chunk
         WHERE v.tenant = t AND c.document = wanted_document),
        (SELECT count(*) FROM chunk_terms v JOIN chunk c ON c.tenant = v.tenant AND c.id = v.chunk
         WHERE v.tenant = t AND c.document = wanted_document);
END $$;

-- Jobs. The queue's tables are the library's; the app role reaches them through this only.
CREATE FUNCTION enqueue_ingestion(wanted_revision uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    INSERT INTO tenant (id) VALUES (current_tenant()) ON CONFLICT DO NOTHING;
    PERFORM procrastinate_defer_jobs_v1(ARRAY[ROW(
        'ingest', 'ingest', 0, NULL, wanted_revision::text,
        jsonb_build_object('tenant', current_tenant(), 'revision', wanted_revision), NULL
    )::procrastinate_job_to_defer_v1]);
EXCEPTION WHEN unique_violation THEN
    NULL;  -- it waits in the queue already
END $$;

-- Work that nobody holds and that waits in no queue: its worker died. It goes over all tenants,
-- so it is not for the app role.
CREATE FUNCTION rescue_ingestion() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text;
    lost uuid;
    rescued bigint := 0;
BEGIN
    -- A dead worker's jobs are done by new ones; nothing else would ever remove them.
    DELETE FROM procrastinate_jobs j
        WHERE j.status = 'doing'
          AND NOT EXISTS (SELECT FROM procrastinate_workers w
                          WHERE w.id = j.worker_id
                            AND w.last_heartbeat > now() - interval '30 seconds');
    PERFORM set_config('vademecum.operator', 'on', true);
    FOR t IN SELECT id FROM tenant LOOP
        PERFORM set_config('vademecum.tenant', t, true);
        FOR lost IN
            SELECT r.id FROM revision r
            WHERE r.tenant = t AND r.state = 'accepted'
              AND (r.lease_until IS NULL OR r.lease_until < now())
              AND NOT EXISTS (
                  SELECT FROM procrastinate_jobs j
                  WHERE j.queueing_lock = r.id::text
                    AND (j.status = 'todo' OR (r.lease_until IS NULL AND j.status = 'doing')))
        LOOP
            PERFORM enqueue_ingestion(lost);
            rescued := rescued + 1;
        END LOOP;
    END LOOP;
    PERFORM set_config('vademecum.tenant', '', true);
    RETURN rescued;
END $$;

REVOKE ALL ON FUNCTION rescue_ingestion() FROM PUBLIC;
REVOKE ALL ON FUNCTION search_dense, term_statistics, search_keyword, current_vectors,
    index_chunk, index_access, index_rows, enqueue_ingestion FROM PUBLIC;
GRANT EXECUTE ON FUNCTION search_dense, term_statistics, search_keyword, current_vectors,
    index_chunk, index_access, index_rows, enqueue_ingestion TO vademecum_app;

-- The role of a login that works without owning the schema.
GRANT USAGE ON SCHEMA vademecum TO vademecum_worker;
GRANT EXECUTE ON FUNCTION rescue_ingestion() TO vademecum_worker;
GRANT SELECT, INSERT ON embedding_space, index_generation TO vademecum_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON procrastinate_jobs, procrastinate_events,
    procrastinate_workers, procrastinate_periodic_defers TO vademecum_worker;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA vademecum TO vademecum_worker;
