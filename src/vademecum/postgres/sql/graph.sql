-- name: graph_state
-- Over all tenants: the graph is one. No more rows are counted than are asked for.
SELECT (SELECT count(*) FROM (SELECT FROM vademecum.chunk_vector v
                              WHERE v.generation = %(generation)s::int
                              LIMIT %(fewest)s::int) AS counted) >= %(fewest)s::int AS large,
       EXISTS (SELECT FROM pg_index i
               WHERE i.indexrelid = to_regclass(format('vademecum.chunk_vector_graph_%%s',
                                                       %(generation)s::int))
                 AND i.indisvalid) AS whole
