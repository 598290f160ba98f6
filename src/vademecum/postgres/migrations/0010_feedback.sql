-- What people thought of an answer. It goes with the trace that it speaks of.
-- Runs as the role that owns the schema; search_path is vademecum, public.

CREATE TABLE feedback (
    tenant text NOT NULL,
    id uuid NOT NULL,
    principal text NOT NULL,
    trace uuid NOT NULL,
    verdict text NOT NULL CHECK (verdict IN ('up', 'down')),
    reason text NOT NULL CHECK (reason IN ('', 'wrong', 'unsupported', 'outdated', 'off_topic')),
    note text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, principal, trace),
    FOREIGN KEY (tenant, trace) REFERENCES trace (tenant, id) ON DELETE CASCADE
);
CREATE INDEX feedback_trace ON feedback (tenant, trace);
ALTER TABLE feedback ENABLE ROW LEVEL SECURITY;
ALTER TABLE feedback FORCE ROW LEVEL SECURITY;
CREATE POLICY visible ON feedback
    USING (tenant = current_tenant() AND (is_operator() OR principal = current_principal()))
    WITH CHECK (tenant = current_tenant() AND principal = current_principal());
GRANT SELECT, INSERT, UPDATE, DELETE ON feedback TO vademecum_app;
