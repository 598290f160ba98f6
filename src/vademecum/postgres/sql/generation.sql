-- name: all
SELECT g.id, g.analyser, g.average_length, g.state, g.embedding, g.instead_of, g.created_at,
       g.switched_at, s.provider, s.model, s.revision, s.dimension, s.metric, s.query_prefix,
       s.passage_prefix
FROM index_generation g JOIN embedding_space s ON s.id = g.space
ORDER BY g.id

-- name: add_space
INSERT INTO embedding_space
    (provider, model, revision, dimension, metric, query_prefix, passage_prefix)
VALUES (%(provider)s, %(model)s, %(revision)s, %(dimension)s, %(metric)s, %(query_prefix)s,
        %(passage_prefix)s)
ON CONFLICT (provider, model, revision, dimension, metric, query_prefix, passage_prefix)
    DO NOTHING

-- name: add_generation
-- One is current, and at most one is being built: whoever comes second adds none.
INSERT INTO index_generation (space, analyser, average_length, state, embedding)
SELECT id, %(analyser)s, %(average_length)s, %(state)s, %(embedding)s
FROM embedding_space
WHERE provider = %(provider)s AND model = %(model)s AND revision = %(revision)s
  AND dimension = %(dimension)s AND metric = %(metric)s
  AND query_prefix = %(query_prefix)s AND passage_prefix = %(passage_prefix)s
ON CONFLICT DO NOTHING

-- name: progress
SELECT kind, held, lacking, tokens FROM generation_progress(%(id)s::int)

-- name: switch
SELECT switch_generation(%(id)s::int, %(setting)s::text) AS switched

-- name: set_state
SELECT set_generation(%(id)s::int, %(before)s::text, %(after)s::text) AS done

-- name: drop
SELECT store, deleted FROM drop_generation(%(id)s::int, %(most)s::int)

-- name: lock_build
-- Of the session: whoever dies lets go of it.
SELECT pg_try_advisory_lock(hashtextextended('vademecum.reindex', 0)) AS held

-- name: unlock_build
SELECT pg_advisory_unlock(hashtextextended('vademecum.reindex', 0)) AS held
