-- Who may come in from outside: keys, the browser sessions made from them, and how fast.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- The secret itself is never kept, only its sha256: it has 256 random bits, so that nothing slower
-- is needed. A session of the pages is a key of its own kind, that ends with the key it came from.
CREATE TABLE api_key (
    tenant text NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('key', 'session')),
    principal text NOT NULL,
    labels text[] NOT NULL,
    scopes text[] NOT NULL,
    digest bytea NOT NULL,
    parent uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz,
    used_at timestamptz,
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, parent) REFERENCES api_key (tenant, id) ON DELETE CASCADE
);
CREATE INDEX api_key_parent ON api_key (tenant, parent) WHERE parent IS NOT NULL;
ALTER TABLE api_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_key FORCE ROW LEVEL SECURITY;
CREATE POLICY own_keys ON api_key
    USING (tenant = current_tenant() AND (is_operator() OR principal = current_principal()))
    WITH CHECK (tenant = current_tenant() AND (is_operator() OR principal = current_principal()));
GRANT SELECT, INSERT, UPDATE, DELETE ON api_key TO vademecum_app;

-- Whoever comes with a key has not said whose it is: this alone is read before a tenant is known,
-- by `admit`. No row-level security, no grant.
CREATE TABLE key_place (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    FOREIGN KEY (tenant, id) REFERENCES api_key (tenant, id) ON DELETE CASCADE
);

CREATE FUNCTION place_key() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
BEGIN
    INSERT INTO key_place (id, tenant) VALUES (NEW.id, NEW.tenant);
    RETURN NULL;
END $$;
CREATE TRIGGER place_key AFTER INSERT ON api_key FOR EACH ROW EXECUTE FUNCTION place_key();

-- When the next request of a kind may come, by the generic cell rate algorithm (ITU-T I.371): one
-- moment a key and kind. Lost in a crash, which harms nobody.
CREATE UNLOGGED TABLE request_rate (
    tenant text NOT NULL,
    key uuid NOT NULL,
    kind text NOT NULL,
    arrival timestamptz NOT NULL,
    PRIMARY KEY (tenant, key, kind),
    FOREIGN KEY (tenant, key) REFERENCES api_key (tenant, id) ON DELETE CASCADE
) WITH (fillfactor = 50);
ALTER TABLE request_rate ENABLE ROW LEVEL SECURITY;
ALTER TABLE request_rate FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_rates ON request_rate
    USING (tenant = current_tenant()) WITH CHECK (tenant = current_tenant());
GRANT SELECT, INSERT, UPDATE, DELETE ON request_rate TO vademecum_app;

-- Return whose a living key is, if `given` is the sha256 of its secret, and how many seconds it must
-- wait where this is one request too many: `burst` at once, then one each `spacing`. Nothing else
-- runs before it is known who asks, so it reads as the operator of the key's tenant.
CREATE FUNCTION admit(key_id uuid, given bytea, rate_kind text, spacing interval, burst int)
RETURNS TABLE (tenant text, kind text, principal text, labels text[], scopes text[],
               expires_at timestamptz, wait double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    t text;
    at timestamptz := clock_timestamp();
    due timestamptz;
BEGIN
    SELECT p.tenant INTO t FROM key_place p WHERE p.id = key_id;
    IF t IS NULL THEN RETURN; END IF;
    PERFORM set_config('vademecum.tenant', t, true), set_config('vademecum.operator', 'on', true);
    SELECT k.tenant, k.kind, k.principal, k.labels, k.scopes,
           least(k.expires_at, above.expires_at), 0
    INTO tenant, kind, principal, labels, scopes, expires_at, wait
    FROM api_key k
    LEFT JOIN api_key above ON above.tenant = k.tenant AND above.id = k.parent
    WHERE k.tenant = t AND k.id = key_id AND k.digest = given
      AND k.revoked_at IS NULL AND above.revoked_at IS NULL
      AND coalesce(least(k.expires_at, above.expires_at), 'infinity') > at;
    IF FOUND THEN
        UPDATE api_key SET used_at = at
            WHERE tenant = t AND id = key_id AND coalesce(used_at, '-infinity') < at - '1 min'::interval;
        IF rate_kind IS NOT NULL THEN
            INSERT INTO request_rate AS r (tenant, key, kind, arrival)
            VALUES (t, key_id, rate_kind, at + spacing)
            ON CONFLICT (tenant, key, kind) DO UPDATE SET arrival = greatest(r.arrival, at) + spacing
                WHERE greatest(r.arrival, at) + spacing <= at + burst * spacing;
            IF NOT FOUND THEN
                SELECT r.arrival INTO due FROM request_rate r
                WHERE r.tenant = t AND r.key = key_id AND r.kind = rate_kind;
                wait := greatest(0.001, extract(epoch FROM due + spacing - burst * spacing - at));
            END IF;
        END IF;
        RETURN NEXT;
    END IF;
    PERFORM set_config('vademecum.tenant', '', true), set_config('vademecum.operator', '', true);
END $$;
REVOKE ALL ON FUNCTION admit, place_key FROM PUBLIC;
GRANT EXECUTE ON FUNCTION admit TO vademecum_app;
