-- What was deleted, by ids alone, so that a backup from before brings none of it back.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- A 'turn' is one out of which nothing may be learned any more; the turn itself may be there.
CREATE TABLE deletion (
    tenant text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('document', 'conversation', 'memory', 'turn')),
    id uuid NOT NULL,
    deleted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, kind, id)
);
CREATE INDEX deletion_age ON deletion (tenant, deleted_at);
ALTER TABLE deletion ENABLE ROW LEVEL SECURITY;
ALTER TABLE deletion FORCE ROW LEVEL SECURITY;
-- Whoever deletes something makes its row; only an operator reads or forgets one.
CREATE POLICY made ON deletion FOR INSERT WITH CHECK (tenant = current_tenant());
CREATE POLICY visible ON deletion FOR SELECT USING (tenant = current_tenant() AND is_operator());
CREATE POLICY removed ON deletion FOR DELETE USING (tenant = current_tenant() AND is_operator());
GRANT SELECT, INSERT, DELETE ON deletion TO vademecum_app;

-- By triggers, so that no way of deleting can leave its row out.
CREATE FUNCTION note_deletions() RETURNS trigger
LANGUAGE plpgsql SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    INSERT INTO deletion (tenant, kind, id)
    SELECT g.tenant, TG_ARGV[0], g.id FROM gone g
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE FUNCTION note_buried_turns() RETURNS trigger
LANGUAGE plpgsql SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    INSERT INTO deletion (tenant, kind, id)
    SELECT DISTINCT b.tenant, 'turn', b.source_turn FROM buried b WHERE b.source_turn IS NOT NULL
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER deletions AFTER DELETE ON document REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_deletions('document');
CREATE TRIGGER deletions AFTER DELETE ON conversation REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_deletions('conversation');
CREATE TRIGGER deletions AFTER DELETE ON memory REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION note_deletions('memory');
CREATE TRIGGER buried AFTER INSERT ON memory_tombstone REFERENCING NEW TABLE AS buried
    FOR EACH STATEMENT EXECUTE FUNCTION note_buried_turns();

-- What is known of deletions before this step.
DO $$
DECLARE t text;
BEGIN
    FOR t IN SELECT id FROM tenant LOOP
        PERFORM set_config('vademecum.tenant', t, true);
        PERFORM set_config('vademecum.operator', 'on', true);
        INSERT INTO deletion (tenant, kind, id, deleted_at)
            SELECT tenant, 'memory', memory, deleted_at FROM memory_tombstone WHERE tenant = t
            UNION ALL
            SELECT tenant, 'turn', source_turn, min(deleted_at) FROM memory_tombstone
            WHERE tenant = t AND source_turn IS NOT NULL GROUP BY tenant, source_turn
            UNION ALL
            SELECT tenant, 'document', document, min(occurred_at) FROM change_event
            WHERE tenant = t AND kind = 'deleted' GROUP BY tenant, document
            ON CONFLICT DO NOTHING;
    END LOOP;
    PERFORM set_config('vademecum.tenant', '', true);
    PERFORM set_config('vademecum.operator', '', true);
END $$;
