-- name: search_dense
SELECT chunk, score, low, mixed, plan
FROM search_dense(%(generation)s::int, %(query)b::halfvec, %(collections)s::text[],
                  %(as_of)s::date,
                  matching_documents(%(path)s::jsonpath, %(bound)s::jsonb,
                                     %(collections)s::text[]),
                  %(k)s::int, %(exact_below)s::bigint, %(fewest)s::int,
                  %(sampled)s::int)

-- name: language_statistics
SELECT term, chunks
FROM language_statistics(%(generation)s::int, %(collections)s::text[])

-- name: term_statistics
SELECT term, chunks
FROM term_statistics(%(generation)s::int, %(terms)s::int[], %(collections)s::text[])

-- name: search_keyword
SELECT chunk, score
FROM search_keyword(%(generation)s::int, %(terms)s::int[], %(frequencies)s::bigint[],
                    %(query)b::sparsevec, %(collections)s::text[], %(as_of)s::date,
                    matching_documents(%(path)s::jsonpath, %(bound)s::jsonb,
                                       %(collections)s::text[]),
                    %(k)s::int, %(budget)s::bigint)

-- name: token_signs
SELECT chunk, signs FROM token_signs(%(generation)s::int, %(chunks)s::uuid[])

-- name: require_generation
SELECT require_generation(%(generation)s::int)
