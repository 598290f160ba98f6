-- Index builds side by side: one is read, one may be made beside it, one may be gone back to.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- `building` > `ready` (whole when it was last looked at) > `current` > `retired`. `embedding` is
-- the name by which a process opens the model, where the settings say `instead_of`.
ALTER TABLE index_generation
    DROP CONSTRAINT index_generation_state_check,
    ADD CONSTRAINT index_generation_state_check
        CHECK (state IN ('building', 'ready', 'current', 'retired')),
    ADD embedding text,
    ADD instead_of text,
    ADD switched_at timestamptz;
CREATE UNIQUE INDEX index_generation_one_open ON index_generation ((true))
    WHERE state IN ('building', 'ready');
CREATE UNIQUE INDEX index_generation_one_retired ON index_generation (state)
    WHERE state = 'retired';

-- The generations whose model gives a text no vector: another model may.
ALTER TABLE chunk ADD given_up int[] NOT NULL DEFAULT '{}';
UPDATE chunk SET given_up = ARRAY(SELECT id FROM index_generation WHERE state = 'current')
    WHERE unembedded IS NOT NULL;
ALTER TABLE memory ADD given_up int[] NOT NULL DEFAULT '{}';
UPDATE memory SET given_up = ARRAY(SELECT id FROM index_generation WHERE state = 'current')
    WHERE unembedded IS NOT NULL;

-- As before, but what was given up is asked of the generation.
CREATE OR REPLACE FUNCTION check_index(wanted_generation int, after uuid, wanted int)
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
               wanted_generation = ANY (c.given_up)
               OR EXISTS (SELECT FROM chunk_vector v WHERE v.tenant = t
                          AND v.chunk = c.id AND v.generation = wanted_generation),
               wanted_generation = ANY (c.given_up)
               OR EXISTS (SELECT FROM chunk_states v WHERE v.tenant = t
                          AND v.chunk = c.id AND v.generation = wanted_generation),
               EXISTS (SELECT FROM chunk_terms v WHERE v.tenant = t
                       AND v.chunk = c.id AND v.generation = wanted_generation)
        FROM chunk c
        WHERE c.tenant = t AND c.id = ANY (ids)
        ORDER BY c.id;
END $$;

CREATE OR REPLACE FUNCTION memory_gaps(wanted_generation int, after uuid, wanted int)
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
          AND (i.memory IS NULL
               OR (i.embedding IS NULL AND wanted_generation <> ALL (m.given_up)))
        ORDER BY m.id
        LIMIT wanted;
END $$;

-- A memory that says something else is found by its new words and vector in every generation:
-- whoever changes it writes one, and the others lack it until they are looked after.
CREATE FUNCTION unindex_memory() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    DELETE FROM memory_index i WHERE i.tenant = NEW.tenant AND i.memory = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER unindex_memory AFTER UPDATE OF text ON memory
    FOR EACH ROW WHEN (OLD.text IS DISTINCT FROM NEW.text) EXECUTE FUNCTION unindex_memory();

-- Whoever publishes holds this until the end of the transaction, so that the index is not switched
-- meanwhile; false where it was: then nothing may be published for that generation.
CREATE FUNCTION hold_generation(wanted int) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('vademecum.generation', 0));
    RETURN EXISTS (SELECT FROM index_generation WHERE id = wanted AND state = 'current');
END $$;

-- A search of a generation that was dropped would find nothing, and must not say that nothing is
-- there.
CREATE FUNCTION require_generation(wanted int) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM index_generation WHERE id = wanted) THEN
        RAISE EXCEPTION 'index generation % is gone', wanted USING ERRCODE = 'no_data_found';
    END IF;
END $$;

-- How much there is to index, of all tenants, and how much of it a generation lacks. `words` are
-- chunks without terms. A turn is lacking only where the generation that is read has it: what was
-- just said is indexed by its own job.
CREATE FUNCTION generation_progress(wanted int)
RETURNS TABLE (kind text, held bigint, lacking bigint, tokens bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text;
    reading int := (SELECT id FROM index_generation WHERE state = 'current');
    sums bigint[] := array_fill(0::bigint, ARRAY[9]);
    own bigint[];
BEGIN
    PERFORM set_config('vademecum.operator', 'on', true);
    FOR t IN SELECT id FROM tenant LOOP
        PERFORM set_config('vademecum.tenant', t, true);
        SELECT ARRAY[count(*), count(*) FILTER (WHERE x.words), count(*) FILTER (WHERE x.vector),
                     coalesce(sum(x.tokens) FILTER (WHERE x.vector), 0)]
            INTO own
            FROM (SELECT c.tokens,
                         NOT EXISTS (SELECT FROM chunk_terms v WHERE v.tenant = t
                                     AND v.chunk = c.id AND v.generation = wanted) AS words,
                         wanted <> ALL (c.given_up)
                         AND NOT EXISTS (SELECT FROM chunk_vector v WHERE v.tenant = t
                                         AND v.chunk = c.id AND v.generation = wanted) AS vector
                  FROM chunk c WHERE c.tenant = t) AS x;
        sums[1:4] := ARRAY(SELECT a + b FROM unnest(sums[1:4], own) AS u (a, b));
        SELECT ARRAY[count(*), count(*) FILTER (
                   WHERE i.memory IS NULL
                         OR (i.embedding IS NULL AND wanted <> ALL (m.given_up)))]
            INTO own
            FROM memory m LEFT JOIN memory_index i
                 ON i.tenant = t AND i.memory = m.id AND i.generation = wanted
            WHERE m.tenant = t;
        sums[5:6] := ARRAY(SELECT a + b FROM unnest(sums[5:6], own) AS u (a, b));
        SELECT ARRAY[count(*), count(*) FILTER (WHERE NOT EXISTS (
                   SELECT FROM turn_unit o
                   WHERE o.tenant = t AND o.turn = u.turn AND o.generation = wanted
                     AND (o.embedding IS NOT NULL OR o.given_up)))]
            INTO own
            FROM turn_unit u
            WHERE u.tenant = t AND u.generation = reading
              AND (u.embedding IS NOT NULL OR u.given_up);
        sums[7:8] := ARRAY(SELECT a + b FROM unnest(sums[7:8], own) AS u (a, b));
    END LOOP;
    PERFORM set_config('vademecum.tenant', '', true),
            set_config('vademecum.operator', 'off', true);
    RETURN QUERY VALUES
        ('chunks'::text, sums[1], sums[3], sums[4]),
        ('words', sums[1], sums[2], 0::bigint),
        ('memories', sums[5], sums[6], 0::bigint),
        ('turns', sums[7], sums[8], 0::bigint);
END $$;

-- Make a generation the one that is read, in the caller's transaction: false, and nothing changes,
-- where it lacks something. Whoever publishes waits meanwhile, and nobody who reads.
CREATE FUNCTION switch_generation(wanted int, setting text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
SET lock_timeout = '20s'
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('vademecum.generation', 0));
    IF NOT EXISTS (SELECT FROM index_generation WHERE id = wanted AND state = 'ready')
       OR EXISTS (SELECT FROM index_generation WHERE state = 'retired')
       OR EXISTS (SELECT FROM generation_progress(wanted) AS p
                  WHERE p.lacking > 0) THEN
        RETURN false;
    END IF;
    UPDATE index_generation SET state = 'retired', switched_at = now() WHERE state = 'current';
    UPDATE index_generation SET state = 'current', switched_at = now(), instead_of = setting
        WHERE id = wanted;
    RETURN true;
END $$;

-- The steps beside the switch: whole when looked at (ready), or taken up again after it was read.
CREATE FUNCTION set_generation(wanted int, before text, after text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    IF (before, after) NOT IN (('building', 'ready'), ('retired', 'ready'), ('ready', 'retired'))
    THEN
        RAISE EXCEPTION 'no generation goes from % to %', before, after;
    END IF;
    UPDATE index_generation SET state = after WHERE id = wanted AND state = before;
    RETURN FOUND;
END $$;

-- Delete at most `most` rows of each table of a generation that is not read, and the generation
-- itself once it has none. A transaction of the caller each, so that none is long.
CREATE FUNCTION drop_generation(wanted int, most int) RETURNS TABLE (store text, deleted bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text;
    gone bigint;
    every bigint := 0;
BEGIN
    IF EXISTS (SELECT FROM index_generation WHERE id = wanted AND state = 'current') THEN
        RAISE EXCEPTION 'the current index generation is never dropped';
    END IF;
    FOREACH store IN ARRAY ARRAY['chunk_vector', 'chunk_terms', 'chunk_states', 'memory_index',
                                 'vector_sample', 'language_total'] LOOP
        EXECUTE format(
            'WITH gone AS (DELETE FROM %1$I WHERE ctid = ANY (ARRAY(
                 SELECT ctid FROM %1$I WHERE generation = $1 LIMIT $2)) RETURNING 1)
             SELECT count(*) FROM gone', store) INTO deleted USING wanted, most;
        every := every + deleted;
        RETURN NEXT;
    END LOOP;
    store := 'turn_unit';
    deleted := 0;
    PERFORM set_config('vademecum.operator', 'on', true);
    FOR t IN SELECT id FROM tenant LOOP
        PERFORM set_config('vademecum.tenant', t, true);
        WITH one AS (DELETE FROM turn_unit u WHERE u.tenant = t AND u.generation = wanted
                         AND u.ctid = ANY (ARRAY(SELECT x.ctid FROM turn_unit x
                                                 WHERE x.tenant = t AND x.generation = wanted
                                                 LIMIT most))
                     RETURNING 1)
            SELECT count(*) INTO gone FROM one;
        deleted := deleted + gone;
    END LOOP;
    PERFORM set_config('vademecum.tenant', '', true),
            set_config('vademecum.operator', 'off', true);
    every := every + deleted;
    RETURN NEXT;
    IF every = 0 THEN
        -- Counts go last: every row above wrote into them while it went.
        DELETE FROM term_delta WHERE generation = wanted;
        DELETE FROM term_count WHERE generation = wanted;
        DELETE FROM index_generation WHERE id = wanted AND state <> 'current';
    END IF;
END $$;

REVOKE ALL ON FUNCTION unindex_memory, hold_generation, require_generation, generation_progress,
    switch_generation, set_generation, drop_generation FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hold_generation, require_generation TO vademecum_app;
GRANT EXECUTE ON FUNCTION generation_progress, switch_generation, set_generation, drop_generation
    TO vademecum_worker;
