-- Answers over collections that everyone of a tenant may read: they may be given again to whoever
-- asks the same in other words. Also: what changed is known to everybody's kept answers.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- `key` is equal only where an answer depends on equal things and the question states the same;
-- `vector` (L2 norm 1) is the question's. No words of a question are here. As a kept answer it goes
-- with its trace, and so with each document that it rests on, with its conversation and its person.
CREATE TABLE shared_answer (
    tenant text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    principal text NOT NULL,
    key bytea NOT NULL,
    vector halfvec NOT NULL,
    trace uuid NOT NULL,
    body jsonb NOT NULL,
    moment pg_snapshot NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, trace) REFERENCES trace (tenant, id) ON DELETE CASCADE
);
CREATE INDEX shared_answer_key ON shared_answer (tenant, key);
CREATE INDEX shared_answer_age ON shared_answer (tenant, created_at);
CREATE INDEX shared_answer_trace ON shared_answer (tenant, trace);
CREATE INDEX shared_answer_expires ON shared_answer (tenant, expires_at);
CREATE INDEX shared_answer_principal ON shared_answer (tenant, principal);
ALTER TABLE shared_answer ENABLE ROW LEVEL SECURITY;
ALTER TABLE shared_answer FORCE ROW LEVEL SECURITY;
-- Everyone of the tenant may be given one, and lets the oldest go.
CREATE POLICY visible ON shared_answer FOR SELECT USING (tenant = current_tenant());
CREATE POLICY removed ON shared_answer FOR DELETE USING (tenant = current_tenant());
CREATE POLICY made ON shared_answer FOR INSERT
    WITH CHECK (tenant = current_tenant() AND principal = current_principal());
GRANT SELECT, INSERT, DELETE ON shared_answer TO vademecum_app;

CREATE INDEX document_access ON document (tenant, collection, access_set);

-- The next three look with an operator's eyes: row-level security binds the owner of these functions
-- too. What they tell is a name that was asked with, or whether there is something. A failure ends
-- the transaction, and the setting with it.
CREATE FUNCTION operator_eyes(wanted text) RETURNS text
LANGUAGE sql SET search_path = vademecum, public, pg_temp
AS $$ SELECT set_config('vademecum.operator', coalesce(wanted, ''), true) $$;
REVOKE EXECUTE ON FUNCTION operator_eyes FROM PUBLIC;

-- One of the collections that holds a document which not everyone of the tenant may read, NULL
-- where there is none.
CREATE FUNCTION private_collection(wanted text[]) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    own text := current_setting('vademecum.operator', true);
    found text;
BEGIN
    PERFORM operator_eyes('on');
    found := (SELECT min(c.name)
              FROM unnest(wanted) AS c (name)
              JOIN access_set s ON s.tenant = t AND NOT 'tenant' = ANY (s.labels)
              WHERE EXISTS (SELECT FROM document d
                            WHERE d.tenant = t AND d.collection = c.name AND d.access_set = s.id));
    PERFORM operator_eyes(own);
    RETURN found;
END $$;
REVOKE EXECUTE ON FUNCTION private_collection FROM PUBLIC;
GRANT EXECUTE ON FUNCTION private_collection TO vademecum_app;

-- Events show themselves to operators only: without their eyes these two saw none, so that everybody
-- else was given answers again that were old.
CREATE OR REPLACE FUNCTION unchanged_since(moment pg_snapshot) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    own text := current_setting('vademecum.operator', true);
    changed boolean;
BEGIN
    IF t IS NULL THEN RETURN false; END IF;
    PERFORM operator_eyes('on');
    changed := EXISTS (
        SELECT FROM change_event e
        WHERE e.tenant = t AND e.xid >= pg_snapshot_xmin(moment)
          AND NOT pg_visible_in_snapshot(e.xid, moment));
    PERFORM operator_eyes(own);
    RETURN NOT changed;
END $$;

CREATE OR REPLACE FUNCTION documents_changed(since timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    own text := current_setting('vademecum.operator', true);
    changed boolean;
BEGIN
    PERFORM operator_eyes('on');
    changed := t IS NOT NULL AND EXISTS (
        SELECT FROM change_event e WHERE e.tenant = t AND e.occurred_at >= since);
    PERFORM operator_eyes(own);
    RETURN changed;
END $$;
