-- name: search_dense
SELECT chunk, score
FROM search_dense(%(generation)s::int, %(query)s::halfvec, %(collections)s::text[],
                  %(as_of)s::date, %(k)s::int)

-- name: term_statistics
SELECT term, chunks
FROM term_statistics(%(generation)s::int, %(terms)s::int[], %(collections)s::text[],
                     %(as_of)s::date)

-- name: search_keyword
SELECT chunk, score
FROM search_keyword(%(generation)s::int, %(terms)s::int[], %(query)s::sparsevec,
                    %(collections)s::text[], %(as_of)s::date, %(k)s::int)
