-- name: tables
-- With their indexes, and what is stored apart of their long values.
SELECT c.relname::text, '' FROM pg_class c
WHERE c.relnamespace = 'vademecum'::regnamespace AND c.relkind = 'r'
ORDER BY c.relname

-- name: files
-- What is to be rewritten, and the file that it lies in.
SELECT c.relname::text, pg_relation_filenode(c.oid)::text FROM pg_class c
WHERE (c.relnamespace = 'vademecum'::regnamespace AND c.relkind = 'r')
   OR c.oid = 'pg_statistic'::regclass

-- name: is_superuser
SELECT rolname FROM pg_roles WHERE rolname = current_user AND rolsuper

-- name: forget_statistics
-- The next ANALYZE makes them again, of what is there then.
DELETE FROM pg_statistic s USING pg_class c
WHERE c.oid = s.starelid
  AND (c.relnamespace = 'vademecum'::regnamespace OR c.relnamespace = 'pg_toast'::regnamespace)

-- name: segments
SELECT name FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'

-- name: next_segment
-- Something must be written, or there is nothing to switch from.
SELECT pg_walfile_name(m.written) FROM (
    SELECT pg_logical_emit_message(false, 'vademecum', '') AS written, pg_switch_wal()
) AS m
