-- Who was forgotten, and what it takes to forget them everywhere.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- One row an erasure, without content: the person only by a hash, enough to forget them again
-- after a restore. `completed_at` is empty as long as something is left.
CREATE TABLE erasure (
    tenant text NOT NULL,
    id uuid NOT NULL,
    subject bytea NOT NULL,
    -- Originals whose bytes would not go yet, by their keys.
    blobs_left text[] NOT NULL DEFAULT '{}',
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    completed_at timestamptz,
    scrubbed_at timestamptz,
    PRIMARY KEY (tenant, id)
);
ALTER TABLE erasure ENABLE ROW LEVEL SECURITY;
ALTER TABLE erasure FORCE ROW LEVEL SECURITY;
CREATE POLICY visible ON erasure USING (tenant = current_tenant());
GRANT SELECT, INSERT, UPDATE ON erasure TO vademecum_app;

-- Every table that holds something of a person has a column `principal`, so that none can be
-- forgotten here; what hangs on such a row goes with it. Who retrieved what (`audit_event`: ids, no
-- content) stays for as long as the law wants it.
CREATE FUNCTION person_tables() RETURNS TABLE (name text, made text)
LANGUAGE sql STABLE SET search_path = vademecum, public, pg_temp
AS $$
    SELECT c.relname::text,
           (SELECT a.attname::text FROM pg_attribute a
            WHERE a.attrelid = c.oid AND NOT a.attisdropped
              AND a.attname IN ('created_at', 'known_from', 'deleted_at')
            ORDER BY a.attname LIMIT 1)
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute p ON p.attrelid = c.oid AND p.attname = 'principal' AND NOT p.attisdropped
    WHERE n.nspname = 'vademecum' AND c.relkind IN ('r', 'p') AND c.relname <> 'audit_event'
    ORDER BY c.relname
$$;

-- How many rows each table holds of a person, made until a moment. A table without times is read
-- whole: its rows hang on others.
CREATE FUNCTION person_rows(wanted text, until timestamptz)
RETURNS TABLE (store text, held bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    own record;
BEGIN
    IF t IS NULL OR NOT (is_operator() OR wanted = current_principal()) THEN RETURN; END IF;
    FOR own IN SELECT * FROM person_tables() LOOP
        store := own.name;
        EXECUTE format(
            'SELECT count(*) FROM %I WHERE tenant = $1 AND principal = $2 AND ($3 IS NULL OR %s)',
            own.name, CASE WHEN own.made IS NULL THEN 'true' ELSE own.made || ' <= $3' END
        ) INTO held USING t, wanted, until;
        RETURN NEXT;
    END LOOP;
END $$;

-- Delete a person's rows made until a moment, NULL for all of them. A table without times is
-- emptied by what its rows hang on, or with `until` NULL by itself.
CREATE FUNCTION erase_person(wanted text, until timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    own record;
BEGIN
    IF t IS NULL OR NOT (is_operator() OR wanted = current_principal()) THEN RETURN; END IF;
    FOR own IN SELECT * FROM person_tables() LOOP
        IF own.made IS NOT NULL OR until IS NULL THEN
            EXECUTE format(
                'DELETE FROM %I WHERE tenant = $1 AND principal = $2 AND ($3 IS NULL OR %s)',
                own.name, CASE WHEN own.made IS NULL THEN 'true' ELSE own.made || ' <= $3' END
            ) USING t, wanted, until;
        END IF;
    END LOOP;
END $$;

-- Everybody of whom a tenant holds something: whose hash stands in the ledger is found here.
CREATE FUNCTION person_names() RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    own record;
BEGIN
    IF t IS NULL OR NOT is_operator() THEN RETURN; END IF;
    FOR own IN SELECT * FROM person_tables() LOOP
        RETURN QUERY EXECUTE format('SELECT DISTINCT principal FROM %I WHERE tenant = $1', own.name)
            USING t;
    END LOOP;
    RETURN QUERY SELECT DISTINCT r.ingested_by FROM revision r WHERE r.tenant = t;
    RETURN QUERY SELECT DISTINCT unnest(s.labels) FROM access_set s WHERE s.tenant = t;
END $$;

-- A scrub goes over all tenants, so it is not for the app role.
CREATE FUNCTION note_scrubbed() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text;
BEGIN
    FOR t IN SELECT id FROM tenant LOOP
        PERFORM set_config('vademecum.tenant', t, true);
        UPDATE erasure SET scrubbed_at = clock_timestamp()
            WHERE completed_at IS NOT NULL AND scrubbed_at IS NULL;
    END LOOP;
    PERFORM set_config('vademecum.tenant', '', true);
END $$;
REVOKE ALL ON FUNCTION note_scrubbed() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION note_scrubbed() TO vademecum_worker;

REVOKE ALL ON FUNCTION person_rows, erase_person, person_names FROM PUBLIC;
GRANT EXECUTE ON FUNCTION person_rows, erase_person, person_names TO vademecum_app;
