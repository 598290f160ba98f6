-- Conversations that go on: what each turn is, the running summary, and turns found again.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- `summary` tells of the turns up to the position `summary_through`; `summary_version` fences
-- whoever folds at the same time. `saved_through` is the last turn that was saved, and
-- `tended_through` the last one that the background work has seen.
ALTER TABLE conversation
    ADD persona text NOT NULL DEFAULT 'default',
    ADD title text NOT NULL DEFAULT '',
    ADD summary text NOT NULL DEFAULT '',
    ADD summary_through bigint NOT NULL DEFAULT 0,
    ADD summary_version bigint NOT NULL DEFAULT 0,
    ADD last_at timestamptz NOT NULL DEFAULT now(),
    ADD saved_through bigint NOT NULL DEFAULT 0,
    ADD tended_through bigint NOT NULL DEFAULT 0,
    ADD tend_attempts int NOT NULL DEFAULT 0,
    ADD tend_after timestamptz NOT NULL DEFAULT '-infinity';

-- The place of an answer is kept from the moment of its question (`writing`), so that one that is
-- stopped, or whose process dies, stands where it was asked for. `variant` counts the answers to
-- one question. `documents` are those whose text the turn may hold: it goes with any of them.
ALTER TABLE turn
    ADD state text NOT NULL DEFAULT 'complete'
        CHECK (state IN ('writing', 'complete', 'interrupted')),
    ADD reply_to uuid,
    ADD variant int NOT NULL DEFAULT 0,
    ADD speaker text NOT NULL DEFAULT '',
    ADD language text NOT NULL DEFAULT '',
    ADD used_chunks uuid[] NOT NULL DEFAULT '{}',
    ADD used_memories uuid[] NOT NULL DEFAULT '{}',
    ADD documents uuid[] NOT NULL DEFAULT '{}';

UPDATE conversation c SET
    title = coalesce((SELECT left(t.text, 80) FROM turn t
                      WHERE t.tenant = c.tenant AND t.conversation = c.id AND t.role = 'user'
                      ORDER BY t.position LIMIT 1), ''),
    last_at = coalesce((SELECT max(t.created_at) FROM turn t
                        WHERE t.tenant = c.tenant AND t.conversation = c.id), c.created_at),
    saved_through = coalesce((SELECT max(t.position) FROM turn t
                              WHERE t.tenant = c.tenant AND t.conversation = c.id), 0);
UPDATE turn t SET documents = ARRAY(
        SELECT DISTINCT (c ->> 'document_id')::uuid
        FROM jsonb_array_elements(x.record -> 'citations') AS c)
    FROM trace x
    WHERE x.tenant = t.tenant AND x.id = t.trace AND t.role = 'assistant'
      AND jsonb_typeof(x.record -> 'citations') = 'array';
UPDATE turn t SET reply_to = (SELECT q.id FROM turn q
                              WHERE q.tenant = t.tenant AND q.conversation = t.conversation
                                AND q.role = 'user' AND q.position < t.position
                              ORDER BY q.position DESC LIMIT 1)
    WHERE t.role = 'assistant';

CREATE INDEX conversation_last ON conversation (tenant, principal, persona, last_at DESC);
CREATE INDEX conversation_untended ON conversation (tenant) WHERE saved_through > tended_through;
CREATE INDEX turn_documents ON turn USING gin (documents);
CREATE INDEX turn_writing ON turn (tenant, created_at) WHERE state = 'writing';

-- What a turn is found by. No text; it can be dropped and built again from the turns. One
-- person's rows are read whole and ranked outside, so it needs no operator that row-level
-- security would keep from an index.
CREATE TABLE turn_unit (
    tenant text NOT NULL,
    turn uuid NOT NULL,
    generation int NOT NULL REFERENCES index_generation,
    principal text NOT NULL,
    language text NOT NULL,
    embedding halfvec,
    signs bytea,
    given_up boolean NOT NULL DEFAULT false,
    terms int[] NOT NULL,
    grams int[] NOT NULL,
    PRIMARY KEY (tenant, turn, generation),
    FOREIGN KEY (tenant, turn) REFERENCES turn (tenant, id) ON DELETE CASCADE
);
CREATE INDEX turn_unit_principal ON turn_unit (tenant, principal, generation);
ALTER TABLE turn_unit ALTER embedding SET STORAGE PLAIN, ALTER signs SET STORAGE EXTERNAL;
ALTER TABLE turn_unit ENABLE ROW LEVEL SECURITY;
ALTER TABLE turn_unit FORCE ROW LEVEL SECURITY;
CREATE POLICY visible ON turn_unit
    USING (tenant = current_tenant() AND (is_operator() OR principal = current_principal()));
GRANT SELECT, INSERT, UPDATE, DELETE ON turn_unit TO vademecum_app;

-- Jobs of several kinds: each kind is a queue of its own, and fair between tenants in itself. A
-- tenant's next job comes after its last one, but not before what is being served. Not for the
-- app role, which has a function for each kind.
CREATE FUNCTION enqueue_work(kind text, item uuid, one_at_a_time text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    served int := coalesce((SELECT max(j.priority) FROM procrastinate_jobs j
                            WHERE j.status = 'todo' AND j.queue_name = kind), 0);
    mine int := (SELECT min(j.priority) FROM procrastinate_jobs j
                 WHERE j.status = 'todo' AND j.queue_name = kind AND j.args ->> 'tenant' = t);
BEGIN
    INSERT INTO tenant (id) VALUES (t) ON CONFLICT DO NOTHING;
    PERFORM procrastinate_defer_jobs_v1(ARRAY[ROW(
        kind, kind, least(served, coalesce(mine - 1, served)), one_at_a_time, item::text,
        jsonb_build_object('tenant', t, 'item', item), NULL
    )::procrastinate_job_to_defer_v1]);
EXCEPTION WHEN unique_violation THEN
    NULL;  -- it waits in the queue already
END $$;

CREATE OR REPLACE FUNCTION enqueue_ingestion(wanted_revision uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    PERFORM enqueue_work('ingest', wanted_revision, NULL);
END $$;

-- What was said in one conversation is folded and indexed by one job at a time.
CREATE FUNCTION enqueue_conversation(wanted_conversation uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    PERFORM enqueue_work('converse', wanted_conversation, 'converse ' || wanted_conversation);
END $$;

-- Conversations with turns that no job has seen and none will: the job was lost, or put off. It
-- goes over all tenants, so it is not for the app role. An answer whose process died stays as far
-- as it was written.
CREATE FUNCTION rescue_conversations() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text;
    lost uuid;
    rescued bigint := 0;
BEGIN
    PERFORM set_config('vademecum.operator', 'on', true);
    FOR t IN SELECT id FROM tenant LOOP
        PERFORM set_config('vademecum.tenant', t, true);
        WITH left_alone AS (
            UPDATE turn x SET state = 'interrupted'
            WHERE x.tenant = t AND x.state = 'writing'
              AND x.created_at < now() - interval '15 minutes'
            RETURNING x.conversation, x.position
        )
        UPDATE conversation c SET saved_through = greatest(c.saved_through, l.position)
            FROM (SELECT conversation, max(position) AS position FROM left_alone GROUP BY 1) AS l
            WHERE c.tenant = t AND c.id = l.conversation;
        FOR lost IN
            SELECT c.id FROM conversation c
            WHERE c.tenant = t AND c.saved_through > c.tended_through AND c.tend_after <= now()
              AND NOT EXISTS (
                  SELECT FROM procrastinate_jobs j
                  WHERE j.queueing_lock = c.id::text AND j.status IN ('todo', 'doing'))
        LOOP
            PERFORM enqueue_conversation(lost);
            rescued := rescued + 1;
        END LOOP;
    END LOOP;
    PERFORM set_config('vademecum.tenant', '', true);
    RETURN rescued;
END $$;

REVOKE ALL ON FUNCTION enqueue_work, enqueue_conversation, rescue_conversations FROM PUBLIC;
GRANT EXECUTE ON FUNCTION enqueue_conversation TO vademecum_app;
GRANT EXECUTE ON FUNCTION rescue_conversations() TO vademecum_worker;
