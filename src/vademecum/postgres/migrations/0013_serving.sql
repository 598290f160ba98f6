-- What serving needs beside keys: first answers for whoever asks the same again, answers under way,
-- and what they cost.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- The first answer to a request that its caller named. `id` is a hash of that name and of the
-- caller's labels, `asked` one of the request. While it is worked on there is no status, and whoever
-- holds `fence` renews the lease. `mentions` are the ids in the answer: it goes with any of them.
CREATE TABLE first_answer (
    tenant text NOT NULL,
    principal text NOT NULL,
    id bytea NOT NULL,
    fence uuid NOT NULL,
    lease_until timestamptz NOT NULL,
    asked bytea,
    status int,
    media_type text,
    -- Empty where the answer was too large to keep.
    body bytea,
    mentions uuid[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, principal, id)
);
CREATE INDEX first_answer_age ON first_answer (tenant, created_at);
CREATE INDEX first_answer_mentions ON first_answer USING gin (mentions);
ALTER TABLE first_answer ENABLE ROW LEVEL SECURITY;
ALTER TABLE first_answer FORCE ROW LEVEL SECURITY;
CREATE POLICY own_answers ON first_answer
    USING (tenant = current_tenant() AND (is_operator() OR principal = current_principal()))
    WITH CHECK (tenant = current_tenant() AND principal = current_principal());
GRANT SELECT, INSERT, UPDATE, DELETE ON first_answer TO vademecum_app;

-- An answer quotes documents and memories: whoever deletes one of them, or changes who sees it, takes
-- every answer that names it along, whosever it is.
CREATE FUNCTION drop_first_answers() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    before text := coalesce(current_setting('vademecum.operator', true), '');
BEGIN
    PERFORM set_config('vademecum.operator', 'on', true);
    DELETE FROM first_answer k
    WHERE k.tenant = current_tenant()
      AND k.mentions && (SELECT coalesce(array_agg(g.id), '{}') FROM gone g
                         WHERE g.tenant = current_tenant());
    PERFORM set_config('vademecum.operator', before, true);
    RETURN NULL;
END $$;
CREATE TRIGGER drop_first_answers AFTER DELETE ON document
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION drop_first_answers();
CREATE TRIGGER drop_first_answers AFTER DELETE ON memory
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION drop_first_answers();
CREATE TRIGGER drop_first_answers AFTER DELETE ON conversation
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION drop_first_answers();

CREATE FUNCTION drop_first_answers_of_one() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    before text := coalesce(current_setting('vademecum.operator', true), '');
BEGIN
    PERFORM set_config('vademecum.operator', 'on', true);
    DELETE FROM first_answer k WHERE k.tenant = OLD.tenant AND k.mentions && ARRAY[OLD.id];
    PERFORM set_config('vademecum.operator', before, true);
    RETURN NULL;
END $$;
CREATE TRIGGER drop_first_answers_of_one AFTER UPDATE OF access_set ON document
    FOR EACH ROW WHEN (OLD.access_set IS DISTINCT FROM NEW.access_set)
    EXECUTE FUNCTION drop_first_answers_of_one();

-- An answer that is being written somewhere, and what it may still cost. The holder is the key that
-- pays: a session's is the key it came from. Lost in a crash, with the answers themselves.
CREATE UNLOGGED TABLE answer_lease (
    tenant text NOT NULL,
    id uuid NOT NULL,
    holder uuid NOT NULL,
    tokens bigint NOT NULL,
    cost double precision NOT NULL,
    lease_until timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
ALTER TABLE answer_lease ENABLE ROW LEVEL SECURITY;
ALTER TABLE answer_lease FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_leases ON answer_lease
    USING (tenant = current_tenant()) WITH CHECK (tenant = current_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON answer_lease TO vademecum_app;

-- What language models were given and wrote for a key on a day (UTC). It outlives the key, since the
-- tenant has spent it all the same; it names nobody.
CREATE TABLE spending (
    tenant text NOT NULL,
    day date NOT NULL,
    holder uuid NOT NULL,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    cost double precision NOT NULL,
    PRIMARY KEY (tenant, day, holder)
);
ALTER TABLE spending ENABLE ROW LEVEL SECURITY;
ALTER TABLE spending FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_spending ON spending
    USING (tenant = current_tenant()) WITH CHECK (tenant = current_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON spending TO vademecum_app;

CREATE FUNCTION paying_key(key_id uuid) RETURNS uuid
LANGUAGE sql STABLE SET search_path = vademecum, public, pg_temp
AS $$
    SELECT coalesce((SELECT coalesce(k.parent, k.id) FROM api_key k
                     WHERE k.tenant = current_tenant() AND k.id = key_id), key_id)
$$;

-- Let a key begin an answer, or say why not: `streams`, where it has `most` under way; `key-tokens`,
-- `key-cost`, `tenant-tokens`, `tenant-cost`, where that budget of the day is spent, counting what
-- the answers under way may still cost. A budget of 0 is none. One at a time of a tenant, so that
-- many at once spend at most one answer too much.
CREATE FUNCTION begin_answer(
    lease uuid, key_id uuid, lasts interval, most int,
    may_tokens bigint, may_cost double precision,
    key_tokens bigint, key_cost double precision,
    tenant_tokens bigint, tenant_cost double precision
) RETURNS text
LANGUAGE plpgsql SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    who uuid := paying_key(key_id);
    at timestamptz;
    under_way int;
    own_tokens bigint;
    own_cost double precision;
    all_tokens bigint;
    all_cost double precision;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('vademecum answers'), hashtext(t));
    at := clock_timestamp();
    DELETE FROM answer_lease l WHERE l.tenant = t AND l.lease_until < at;
    SELECT count(*) FILTER (WHERE l.holder = who),
           coalesce(sum(l.tokens) FILTER (WHERE l.holder = who), 0),
           coalesce(sum(l.cost) FILTER (WHERE l.holder = who), 0),
           coalesce(sum(l.tokens), 0), coalesce(sum(l.cost), 0)
    INTO under_way, own_tokens, own_cost, all_tokens, all_cost
    FROM answer_lease l WHERE l.tenant = t;
    IF under_way >= most THEN RETURN 'streams'; END IF;
    IF greatest(key_tokens, key_cost, tenant_tokens, tenant_cost) > 0 THEN
        SELECT own_tokens + coalesce(sum(s.prompt_tokens + s.completion_tokens)
                                     FILTER (WHERE s.holder = who), 0),
               own_cost + coalesce(sum(s.cost) FILTER (WHERE s.holder = who), 0),
               all_tokens + coalesce(sum(s.prompt_tokens + s.completion_tokens), 0),
               all_cost + coalesce(sum(s.cost), 0)
        INTO own_tokens, own_cost, all_tokens, all_cost
        FROM spending s WHERE s.tenant = t AND s.day = (at AT TIME ZONE 'UTC')::date;
        IF key_tokens > 0 AND own_tokens >= key_tokens THEN RETURN 'key-tokens'; END IF;
        IF key_cost > 0 AND own_cost >= key_cost THEN RETURN 'key-cost'; END IF;
        IF tenant_tokens > 0 AND all_tokens >= tenant_tokens THEN RETURN 'tenant-tokens'; END IF;
        IF tenant_cost > 0 AND all_cost >= tenant_cost THEN RETURN 'tenant-cost'; END IF;
    END IF;
    INSERT INTO answer_lease (tenant, id, holder, tokens, cost, lease_until)
    VALUES (t, lease, who, may_tokens, may_cost, at + lasts);
    RETURN '';
END $$;

-- End an answer, and count what it did cost in the place of what it might have.
CREATE FUNCTION end_answer(
    lease uuid, key_id uuid, used_prompt bigint, used_completion bigint, used_cost double precision
) RETURNS void
LANGUAGE plpgsql SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    who uuid;
BEGIN
    DELETE FROM answer_lease l WHERE l.tenant = t AND l.id = lease RETURNING l.holder INTO who;
    IF used_prompt + used_completion > 0 THEN
        INSERT INTO spending AS s (tenant, day, holder, prompt_tokens, completion_tokens, cost)
        VALUES (t, (clock_timestamp() AT TIME ZONE 'UTC')::date, coalesce(who, paying_key(key_id)),
                used_prompt, used_completion, used_cost)
        ON CONFLICT (tenant, day, holder) DO UPDATE
        SET prompt_tokens = s.prompt_tokens + used_prompt,
            completion_tokens = s.completion_tokens + used_completion,
            cost = s.cost + used_cost;
    END IF;
END $$;
REVOKE ALL ON FUNCTION drop_first_answers, drop_first_answers_of_one, paying_key, begin_answer, end_answer
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION paying_key, begin_answer, end_answer TO vademecum_app;
