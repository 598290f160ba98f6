-- Runs of golden sets: numbers and ids, no text of a question, a passage or an answer.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- `principal` is whoever ran it. Operators alone read runs. The functions that forget a person run
-- as the owner for the person itself, and must reach its rows.
CREATE TABLE evaluation_run (
    tenant text NOT NULL,
    id uuid NOT NULL,
    principal text NOT NULL,
    name text NOT NULL,
    sha256 text NOT NULL,
    seconds double precision NOT NULL,
    questions int NOT NULL,
    skipped int NOT NULL,
    settings jsonb NOT NULL,
    versions jsonb NOT NULL,
    summaries jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX evaluation_run_newest ON evaluation_run (tenant, created_at);
ALTER TABLE evaluation_run ENABLE ROW LEVEL SECURITY;
ALTER TABLE evaluation_run FORCE ROW LEVEL SECURITY;
CREATE POLICY operators ON evaluation_run
    USING (tenant = current_tenant()
           AND (is_operator()
                OR (current_user <> 'vademecum_app' AND principal = current_principal())))
    WITH CHECK (tenant = current_tenant() AND is_operator() AND principal = current_principal());
GRANT SELECT, INSERT, DELETE ON evaluation_run TO vademecum_app;

-- `question` is the id that the golden set gives. What hangs on a run goes with it.
CREATE TABLE evaluation_result (
    tenant text NOT NULL,
    run uuid NOT NULL,
    ordinal int NOT NULL,
    question text NOT NULL,
    kind text NOT NULL,
    language text NOT NULL,
    answerable boolean NOT NULL,
    scores jsonb NOT NULL,
    apart jsonb NOT NULL,
    chunks uuid[] NOT NULL,
    abstained boolean NOT NULL,
    confidence double precision NOT NULL,
    trace uuid NOT NULL,
    degraded text[] NOT NULL,
    milliseconds double precision NOT NULL,
    PRIMARY KEY (tenant, run, ordinal),
    UNIQUE (tenant, run, question),
    FOREIGN KEY (tenant, run) REFERENCES evaluation_run (tenant, id) ON DELETE CASCADE
);
ALTER TABLE evaluation_result ENABLE ROW LEVEL SECURITY;
ALTER TABLE evaluation_result FORCE ROW LEVEL SECURITY;
CREATE POLICY operators ON evaluation_result
    USING (tenant = current_tenant() AND is_operator())
    WITH CHECK (tenant = current_tenant() AND is_operator());
GRANT SELECT, INSERT, DELETE ON evaluation_result TO vademecum_app;
