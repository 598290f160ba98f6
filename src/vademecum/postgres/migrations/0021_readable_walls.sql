-- Who asks, in a way that the planner can read. A function with a search_path of its own is called
-- for each row that a policy looks at; one whose body was parsed when it was made needs none, and
-- becomes part of the plan.
-- Runs as the role that owns the schema; search_path is vademecum, public.

CREATE OR REPLACE FUNCTION current_tenant() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('vademecum.tenant', true), '');

CREATE OR REPLACE FUNCTION current_principal() RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('vademecum.principal', true), '');

CREATE OR REPLACE FUNCTION is_operator() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(current_setting('vademecum.operator', true) = 'on', false);

CREATE OR REPLACE FUNCTION moment_of(wanted_day date) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN coalesce(
    (wanted_day + 1)::timestamp AT TIME ZONE 'UTC' - interval '1 microsecond', now()
);

CREATE OR REPLACE FUNCTION usable_memories(wanted_persona text, reached text[])
RETURNS TABLE (memory uuid, language text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT m.id, m.language
    FROM memory m
    WHERE m.tenant = current_tenant() AND m.principal = current_principal()
      AND m.persona = wanted_persona
      AND (m.state = 'active' OR (m.state = 'held' AND m.held_until = ANY (reached)))
      AND (m.expires_at IS NULL OR m.expires_at > now())
      AND NOT EXISTS (SELECT FROM memory_off o
                      WHERE o.tenant = current_tenant() AND o.principal = current_principal());
END;
