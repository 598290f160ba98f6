-- Who wants nothing to be remembered of them. No row is the usual: it is remembered.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- It goes with the person, as every table with a `principal` does.
CREATE TABLE memory_off (
    tenant text NOT NULL,
    principal text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, principal)
);
ALTER TABLE memory_off ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_off FORCE ROW LEVEL SECURITY;
-- Operators read it, since the worker learns for everybody; only the person themselves changes it.
CREATE POLICY visible ON memory_off FOR SELECT
    USING (tenant = current_tenant() AND (is_operator() OR principal = current_principal()));
CREATE POLICY own ON memory_off
    USING (tenant = current_tenant() AND (is_operator() OR principal = current_principal()))
    WITH CHECK (tenant = current_tenant() AND principal = current_principal());
GRANT SELECT, INSERT, DELETE ON memory_off TO vademecum_app;

-- As before, and none of a person who has switched remembering off: every leg of a recall and the
-- profile ask this function.
CREATE OR REPLACE FUNCTION usable_memories(wanted_persona text, reached text[])
RETURNS TABLE (memory uuid, language text)
LANGUAGE sql STABLE SET search_path = vademecum, public, pg_temp
AS $$
    SELECT m.id, m.language
    FROM memory m
    WHERE m.tenant = current_tenant() AND m.principal = current_principal()
      AND m.persona = wanted_persona
      AND (m.state = 'active' OR (m.state = 'held' AND m.held_until = ANY (reached)))
      AND (m.expires_at IS NULL OR m.expires_at > now())
      AND NOT EXISTS (SELECT FROM memory_off o
                      WHERE o.tenant = current_tenant() AND o.principal = current_principal())
$$;
