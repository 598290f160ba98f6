-- name: current
SELECT g.id, g.analyser, g.average_length, s.provider, s.model, s.revision, s.dimension, s.metric,
       s.query_prefix, s.passage_prefix
FROM index_generation g JOIN embedding_space s ON s.id = g.space
WHERE g.state = 'current'

-- name: add_space
INSERT INTO embedding_space
    (provider, model, revision, dimension, metric, query_prefix, passage_prefix)
VALUES (%(provider)s, %(model)s, %(revision)s, %(dimension)s, %(metric)s, %(query_prefix)s,
        %(passage_prefix)s)
ON CONFLICT (provider, model, revision, dimension, metric, query_prefix, passage_prefix)
    DO NOTHING

-- name: add_generation
INSERT INTO index_generation (space, analyser, average_length, state)
SELECT id, %(analyser)s, %(average_length)s, 'current'
FROM embedding_space
WHERE provider = %(provider)s AND model = %(model)s AND revision = %(revision)s
  AND dimension = %(dimension)s AND metric = %(metric)s
  AND query_prefix = %(query_prefix)s AND passage_prefix = %(passage_prefix)s
ON CONFLICT (state) WHERE state = 'current' DO NOTHING
