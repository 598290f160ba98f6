-- name: server
SELECT current_setting('server_version') AS version,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector,
       current_setting('fsync') AS fsync,
       current_setting('synchronous_commit') AS synchronous_commit,
       pg_database_size(current_database()) AS bytes

-- name: isolation_tables
-- Every table that holds a tenant's data, with its walls.
SELECT c.relname AS name, c.relrowsecurity AS enabled, c.relforcerowsecurity AS forced,
       pg_get_userbyid(c.relowner) AS owner,
       has_table_privilege(%(app)s, c.oid, 'SELECT, INSERT, UPDATE, DELETE') AS granted
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'vademecum'
WHERE c.relkind IN ('r', 'p')
  AND EXISTS (SELECT FROM pg_attribute a
              WHERE a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped)

-- name: isolation_roles
SELECT rolname AS name, rolsuper AS superuser, rolbypassrls AS bypasses FROM pg_roles
WHERE rolname = %(app)s

-- name: isolation_functions
SELECT p.proname AS name FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace AND n.nspname = 'vademecum'
WHERE p.prosecdef
  AND NOT EXISTS (SELECT FROM unnest(p.proconfig) AS setting
                  WHERE setting LIKE 'search_path=%%pg_temp')

-- name: isolation_views
SELECT c.relname AS name FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'vademecum'
WHERE c.relkind = 'v'
  AND NOT EXISTS (SELECT FROM unnest(c.reloptions) AS setting
                  WHERE setting IN ('security_invoker=true', 'security_invoker=on'))

-- name: visible_without_tenant
SELECT (SELECT count(*) FROM (SELECT FROM document LIMIT 1) AS d) AS document,
       (SELECT count(*) FROM (SELECT FROM revision LIMIT 1) AS r) AS revision,
       (SELECT count(*) FROM (SELECT FROM chunk LIMIT 1) AS c) AS chunk,
       (SELECT count(*) FROM (SELECT FROM access_set LIMIT 1) AS a) AS access_set,
       (SELECT count(*) FROM (SELECT FROM conversation LIMIT 1) AS v) AS conversation,
       (SELECT count(*) FROM (SELECT FROM turn LIMIT 1) AS t) AS turn,
       (SELECT count(*) FROM (SELECT FROM turn_unit LIMIT 1) AS u) AS turn_unit,
       (SELECT count(*) FROM (SELECT FROM trace LIMIT 1) AS x) AS trace,
       (SELECT count(*) FROM (SELECT FROM memory LIMIT 1) AS m) AS memory,
       (SELECT count(*) FROM (SELECT FROM memory_version LIMIT 1) AS w) AS memory_version,
       (SELECT count(*) FROM (SELECT FROM memory_tombstone LIMIT 1) AS g) AS memory_tombstone,
       (SELECT count(*) FROM (SELECT FROM deletion LIMIT 1) AS o) AS deletion,
       (SELECT count(*) FROM (SELECT FROM api_key LIMIT 1) AS k) AS api_key,
       (SELECT count(*) FROM (SELECT FROM request_rate LIMIT 1) AS l) AS request_rate,
       (SELECT count(*) FROM (SELECT FROM feedback LIMIT 1) AS f) AS feedback,
       (SELECT count(*) FROM (SELECT FROM kept_answer LIMIT 1) AS k) AS kept_answer,
       (SELECT count(*) FROM (SELECT FROM shared_answer LIMIT 1) AS h) AS shared_answer,
       (SELECT count(*) FROM (SELECT FROM first_answer LIMIT 1) AS y) AS first_answer,
       (SELECT count(*) FROM (SELECT FROM evaluation_run LIMIT 1) AS e) AS evaluation_run,
       (SELECT count(*) FROM (SELECT FROM evaluation_result LIMIT 1) AS z) AS evaluation_result,
       (SELECT count(*) FROM (SELECT FROM calibration LIMIT 1) AS b) AS calibration

-- name: ping
SELECT 1
