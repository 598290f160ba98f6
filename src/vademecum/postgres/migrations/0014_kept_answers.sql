-- Answers that may be given again while nothing that they depend on has changed.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- `moment` is what was committed when the answer was begun. Going with its trace, an answer goes
-- with each document that it rests on, with its conversation and with its person.
CREATE TABLE kept_answer (
    tenant text NOT NULL,
    principal text NOT NULL,
    key bytea NOT NULL,
    trace uuid NOT NULL,
    body jsonb NOT NULL,
    moment pg_snapshot NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, principal, key),
    FOREIGN KEY (tenant, trace) REFERENCES trace (tenant, id) ON DELETE CASCADE
);
CREATE INDEX kept_answer_age ON kept_answer (tenant, principal, created_at);
CREATE INDEX kept_answer_trace ON kept_answer (tenant, trace);
CREATE INDEX kept_answer_expires ON kept_answer (tenant, expires_at);
ALTER TABLE kept_answer ENABLE ROW LEVEL SECURITY;
ALTER TABLE kept_answer FORCE ROW LEVEL SECURITY;
CREATE POLICY visible ON kept_answer
    USING (tenant = current_tenant() AND (is_operator() OR principal = current_principal()))
    WITH CHECK (tenant = current_tenant() AND principal = current_principal());
GRANT SELECT, INSERT, UPDATE, DELETE ON kept_answer TO vademecum_app;

-- Whether no document of the tenant was published, changed or deleted by a transaction that
-- `moment` does not hold. Events may commit out of the order of their ids, so no highest id tells.
-- Only operators may read events: this tells nothing of them but whether there is one.
CREATE FUNCTION unchanged_since(moment pg_snapshot) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE t text := current_tenant();
BEGIN
    IF t IS NULL THEN RETURN false; END IF;
    RETURN NOT EXISTS (
        SELECT FROM change_event e
        WHERE e.tenant = t AND e.xid >= pg_snapshot_xmin(moment)
          AND NOT pg_visible_in_snapshot(e.xid, moment));
END $$;

-- Whether any was after a time, for a replay: nothing rests on it, so commits may be out of order.
CREATE FUNCTION documents_changed(since timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE t text := current_tenant();
BEGIN
    RETURN t IS NOT NULL AND EXISTS (
        SELECT FROM change_event e WHERE e.tenant = t AND e.occurred_at >= since);
END $$;
REVOKE EXECUTE ON FUNCTION unchanged_since, documents_changed FROM PUBLIC;
GRANT EXECUTE ON FUNCTION unchanged_since, documents_changed TO vademecum_app;
