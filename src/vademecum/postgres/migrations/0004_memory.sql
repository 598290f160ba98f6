-- What is remembered of each person, how it changed, and the index over it.

-- What is past its time is hidden by each query, by the database's clock, long before it is erased.
CREATE TABLE memory (
    tenant text NOT NULL,
    id uuid NOT NULL,
    principal text NOT NULL,
    persona text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('profile_fact', 'preference', 'boundary', 'relationship',
                                       'episodic_event', 'task')),
    text text NOT NULL CHECK (text <> ''),
    language text NOT NULL,
    -- What finds the same fact (its words), and another value of the same thing (its topic).
    fingerprint text NOT NULL,
    topic text NOT NULL,
    importance double precision NOT NULL CHECK (importance BETWEEN 0 AND 1),
    emotion double precision NOT NULL CHECK (emotion BETWEEN 0 AND 1),
    confidence text NOT NULL CHECK (confidence IN ('high', 'medium', 'low')),
    reason text NOT NULL,
    origin text NOT NULL CHECK (origin IN ('explicit', 'extracted', 'manual')),
    state text NOT NULL
        CHECK (state IN ('active', 'pending', 'held', 'superseded', 'archived')),
    held_until text CHECK (held_until IN ('normal', 'close')),
    pinned boolean NOT NULL,
    -- Kinds of sensitive content, and when the person agreed that it is kept.
    sensitive text[] NOT NULL,
    consented_at timestamptz,
    source text NOT NULL CHECK (source IN ('turn', 'person', 'client')),
    source_turn uuid,
    source_words text NOT NULL,
    client text,
    -- When it is true, and when we believed it.
    true_from date,
    true_until date,
    known_from timestamptz NOT NULL DEFAULT now(),
    known_until timestamptz,
    expires_at timestamptz,
    uses int NOT NULL DEFAULT 0,
    last_used_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now(),
    confirmed_at timestamptz,
    version int NOT NULL DEFAULT 1,
    superseded_by uuid,
    -- Why it has no vector and will not be tried again; NULL where it has one, or waits for it.
    unembedded text,
    PRIMARY KEY (tenant, id),
    CHECK ((state = 'held') = (held_until IS NOT NULL)),
    CHECK ((source = 'client') = (client IS NOT NULL))
);
CREATE INDEX memory_person ON memory (tenant, principal, persona, state);
CREATE INDEX memory_fingerprint ON memory (tenant, principal, persona, fingerprint);
CREATE INDEX memory_topic ON memory (tenant, principal, persona, topic) WHERE topic <> '';
CREATE INDEX memory_source_turn ON memory (tenant, source_turn) WHERE source_turn IS NOT NULL;
CREATE INDEX memory_expiry ON memory (expires_at) WHERE expires_at IS NOT NULL;

-- What a memory said before it was edited, for as long as it is not erased.
CREATE TABLE memory_version (
    tenant text NOT NULL,
    memory uuid NOT NULL,
    version int NOT NULL,
    principal text NOT NULL,
    kind text NOT NULL,
    text text NOT NULL,
    language text NOT NULL,
    true_from date,
    true_until date,
    known_from timestamptz NOT NULL,
    known_until timestamptz NOT NULL,
    PRIMARY KEY (tenant, memory, version),
    FOREIGN KEY (tenant, memory) REFERENCES memory (tenant, id) ON DELETE CASCADE
);

-- That something was erased, and never what. The turn is kept so that nothing learns it from there
-- again.
CREATE TABLE memory_tombstone (
    tenant text NOT NULL,
    memory uuid NOT NULL,
    principal text NOT NULL,
    source_turn uuid,
    why text NOT NULL CHECK (why IN ('asked', 'expired', 'retention')),
    deleted_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, memory)
);
CREATE INDEX memory_tombstone_turn ON memory_tombstone (tenant, source_turn)
    WHERE source_turn IS NOT NULL;

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['memory', 'memory_version', 'memory_tombstone'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO vademecum_app', name);
        EXECUTE format('CREATE POLICY visible ON %I USING (tenant = current_tenant()
                        AND (is_operator() OR principal = current_principal()))', name);
    END LOOP;
END $$;

-- The index over memories: no text, no grant to the app role, gone with its memory. A vector that
-- is NULL waits for the embedder; words are found meanwhile. Terms are hashed with the person's
-- name, so that nobody reads through another one's rows.
CREATE TABLE memory_index (
    tenant text NOT NULL,
    memory uuid NOT NULL,
    generation int NOT NULL REFERENCES index_generation,
    principal text NOT NULL,
    persona text NOT NULL,
    embedding halfvec,
    terms int[] NOT NULL,
    weights sparsevec NOT NULL,
    PRIMARY KEY (tenant, memory, generation),
    FOREIGN KEY (tenant, memory) REFERENCES memory (tenant, id) ON DELETE CASCADE
);
ALTER TABLE memory_index ALTER embedding SET STORAGE PLAIN;
CREATE INDEX memory_index_person ON memory_index (tenant, principal, persona, generation);
CREATE INDEX memory_index_terms ON memory_index USING gin (terms);

-- How well a person is known: by the turns they have spoken.
CREATE INDEX turn_spoken ON turn (tenant, principal, created_at) WHERE role = 'user';

-- Each function below takes the tenant and the person from the transaction, and gives nothing
-- without them.

-- Memories that may be used now: active ones, and held ones whose stage is reached.
CREATE FUNCTION usable_memories(wanted_persona text, reached text[])
RETURNS TABLE (memory uuid, language text)
LANGUAGE sql STABLE SET search_path = vademecum, public, pg_temp
AS $$
    SELECT m.id, m.language
    FROM memory m
    WHERE m.tenant = current_tenant() AND m.principal = current_principal()
      AND m.persona = wanted_persona
      AND (m.state = 'active' OR (m.state = 'held' AND m.held_until = ANY (reached)))
      AND (m.expires_at IS NULL OR m.expires_at > now())
$$;

-- How many usable memories hold each term.
CREATE FUNCTION memory_statistics(
    wanted_generation int, wanted_persona text, reached text[], wanted_terms int[]
) RETURNS TABLE (term int, memories bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    p text := current_principal();
BEGIN
    IF t IS NULL OR p IS NULL THEN RETURN; END IF;
    RETURN QUERY
        SELECT u.term, count(*)
        FROM (SELECT x.memory, x.terms FROM memory_index x
              WHERE x.tenant = t AND x.principal = p AND x.persona = wanted_persona
                AND x.generation = wanted_generation AND x.terms && wanted_terms OFFSET 0) AS i
        JOIN usable_memories(wanted_persona, reached) AS m USING (memory)
        CROSS JOIN LATERAL unnest(i.terms) AS u (term)
        WHERE u.term = ANY (wanted_terms)
        GROUP BY u.term;
END $$;

CREATE FUNCTION search_memories_keyword(
    wanted_generation int, wanted_persona text, reached text[], wanted_terms int[],
    query sparsevec, wanted int
) RETURNS TABLE (memory uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    p text := current_principal();
BEGIN
    IF t IS NULL OR p IS NULL THEN RETURN; END IF;
    RETURN QUERY
        SELECT i.memory, -(i.weights <#> query)
        FROM (SELECT x.memory, x.weights FROM memory_index x
              WHERE x.tenant = t AND x.principal = p AND x.persona = wanted_persona
                AND x.generation = wanted_generation AND x.terms && wanted_terms OFFSET 0) AS i
        JOIN usable_memories(wanted_persona, reached) AS m USING (memory)
        ORDER BY i.weights <#> query, i.memory
        LIMIT wanted;
END $$;

-- Every vector of one person is compared: there are hundreds, and a graph over everybody's would
-- starve under the filter.
CREATE FUNCTION search_memories_dense(
    wanted_generation int, wanted_persona text, reached text[], query halfvec, wanted int
) RETURNS TABLE (memory uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    p text := current_principal();
BEGIN
    IF t IS NULL OR p IS NULL THEN RETURN; END IF;
    RETURN QUERY
        SELECT i.memory, 1 - (i.embedding <=> query)
        FROM memory_index i
        JOIN usable_memories(wanted_persona, reached) AS m USING (memory)
        WHERE i.tenant = t AND i.principal = p AND i.persona = wanted_persona
          AND i.generation = wanted_generation AND i.embedding IS NOT NULL
        ORDER BY i.embedding <=> query, i.memory
        LIMIT wanted;
END $$;

-- Cosines of memories by id, whatever their state: what was believed once.
CREATE FUNCTION memory_cosines(wanted_generation int, wanted_memories uuid[], query halfvec)
RETURNS TABLE (memory uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    p text := current_principal();
BEGIN
    IF t IS NULL OR p IS NULL THEN RETURN; END IF;
    RETURN QUERY
        SELECT i.memory, 1 - (i.embedding <=> query)
        FROM memory_index i
        WHERE i.tenant = t AND i.principal = p AND i.memory = ANY (wanted_memories)
          AND i.generation = wanted_generation AND i.embedding IS NOT NULL;
END $$;

-- Memories that share words with a new one, those that share most first; of a common word at most
-- `each` are looked at, so that a new memory costs the same beside ten thousand as beside ten.
CREATE FUNCTION memories_sharing(
    wanted_generation int, wanted_persona text, wanted_terms int[], each int, wanted int
) RETURNS TABLE (memory uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
-- The terms' own index, never the person's.
SET enable_seqscan = off
AS $$
DECLARE
    t text := current_tenant();
    p text := current_principal();
BEGIN
    IF t IS NULL OR p IS NULL THEN RETURN; END IF;
    RETURN QUERY
        SELECT f.memory
        FROM unnest(wanted_terms) AS w (term)
        CROSS JOIN LATERAL (
            SELECT i.memory
            FROM (SELECT x.* FROM memory_index x WHERE x.terms @> ARRAY[w.term] OFFSET 0) AS i
            WHERE i.tenant = t AND i.principal = p AND i.persona = wanted_persona
              AND i.generation = wanted_generation
            LIMIT each) AS f
        GROUP BY f.memory
        ORDER BY count(*) DESC, f.memory DESC
        LIMIT wanted;
END $$;

-- A row's person is read from the truth, and only the version that was analysed is indexed. What
-- was there before is replaced: an edited text is found by its new words and vector alone.
CREATE FUNCTION index_memory(
    wanted_generation int, wanted_memory uuid, wanted_version int, embedding halfvec,
    terms int[], weights sparsevec
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
BEGIN
    INSERT INTO tenant (id) VALUES (t) ON CONFLICT DO NOTHING;
    INSERT INTO memory_index AS i (tenant, memory, generation, principal, persona, embedding,
                                   terms, weights)
        SELECT t, m.id, wanted_generation, m.principal, m.persona, index_memory.embedding,
               index_memory.terms, index_memory.weights
        FROM memory m
        WHERE m.tenant = t AND m.id = wanted_memory AND m.version = wanted_version
        FOR UPDATE
        ON CONFLICT (tenant, memory, generation) DO UPDATE
            SET embedding = excluded.embedding, terms = excluded.terms,
                weights = excluded.weights;
END $$;

-- Memories after `after` in the order of their ids that lack a vector, or any row, in the index.
CREATE FUNCTION memory_gaps(wanted_generation int, after uuid, wanted int)
RETURNS TABLE (memory uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
BEGIN
    RETURN QUERY
        SELECT m.id
        FROM memory m
        LEFT JOIN memory_index i ON i.tenant = t AND i.memory = m.id
                                AND i.generation = wanted_generation
        WHERE m.tenant = t AND m.id > after
          AND (i.memory IS NULL OR (i.embedding IS NULL AND m.unembedded IS NULL))
        ORDER BY m.id
        LIMIT wanted;
END $$;

REVOKE ALL ON FUNCTION memory_statistics, search_memories_keyword, search_memories_dense,
    memory_cosines, memories_sharing, index_memory, memory_gaps FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory_statistics, search_memories_keyword, search_memories_dense,
    memory_cosines, memories_sharing, index_memory, memory_gaps TO vademecum_app;
