-- What was fitted to one collection's own questions: numbers, no text of a question or a person.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- Whoever searches the collection goes by it, so everybody of the tenant may read it; only
-- operators write it. `figures` are what it reached on the questions that were held apart.
CREATE TABLE calibration (
    tenant text NOT NULL,
    collection text NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    generation int NOT NULL,
    ranking jsonb NOT NULL,
    same jsonb,
    across jsonb,
    dense_weight double precision CHECK (dense_weight BETWEEN 0 AND 1),
    figures jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, collection)
);
ALTER TABLE calibration ENABLE ROW LEVEL SECURITY;
ALTER TABLE calibration FORCE ROW LEVEL SECURITY;
CREATE POLICY readers ON calibration FOR SELECT USING (tenant = current_tenant());
CREATE POLICY operators ON calibration
    USING (tenant = current_tenant() AND is_operator())
    WITH CHECK (tenant = current_tenant() AND is_operator());
GRANT SELECT, INSERT, UPDATE, DELETE ON calibration TO vademecum_app;
