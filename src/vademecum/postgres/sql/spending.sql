-- name: begin
SELECT begin_answer(
    %(id)s::uuid, %(key)s::uuid, %(lasts)s::interval, %(most)s::int,
    %(may_tokens)s::bigint, %(may_cost)s::double precision,
    %(key_tokens)s::bigint, %(key_cost)s::double precision,
    %(tenant_tokens)s::bigint, %(tenant_cost)s::double precision) AS refused

-- name: renew
UPDATE answer_lease SET lease_until = clock_timestamp() + %(lasts)s::interval
WHERE tenant = %(tenant)s AND id = %(id)s::uuid

-- name: end
SELECT end_answer(%(id)s::uuid, %(key)s::uuid, %(prompt)s::bigint, %(completion)s::bigint,
                  %(cost)s::double precision)

-- name: spent
SELECT coalesce(sum(prompt_tokens), 0)::bigint AS prompt,
       coalesce(sum(completion_tokens), 0)::bigint AS completion,
       coalesce(sum(cost), 0)::double precision AS cost
FROM spending
WHERE tenant = %(tenant)s AND day = %(day)s::date
  AND (%(key)s::uuid IS NULL OR holder = paying_key(%(key)s::uuid))

-- name: by_day
-- Of everybody together.
SELECT day, sum(prompt_tokens)::bigint AS prompt, sum(completion_tokens)::bigint AS completion,
       sum(cost)::double precision AS cost
FROM spending
WHERE tenant = %(tenant)s AND day >= %(since)s::date
GROUP BY day ORDER BY day

-- name: let_go
DELETE FROM spending
WHERE tenant = %(tenant)s AND day < %(before)s::date
RETURNING holder
