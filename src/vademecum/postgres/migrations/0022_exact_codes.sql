-- Which memories hold a code, whatever else they say.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- Those that hold most by mass, whose terms are hashed with the person's name.
CREATE FUNCTION memories_holding(
    wanted_generation int, wanted_persona text, reached text[], wanted_terms int[],
    masses double precision[], wanted int
) RETURNS TABLE (memory uuid, held int[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = vademecum, public, pg_temp
AS $$
DECLARE
    t text := current_tenant();
    p text := current_principal();
BEGIN
    IF t IS NULL OR p IS NULL THEN RETURN; END IF;
    RETURN QUERY
        SELECT i.memory, h.held
        FROM (SELECT x.memory, x.terms FROM memory_index x
              WHERE x.tenant = t AND x.principal = p AND x.persona = wanted_persona
                AND x.generation = wanted_generation AND x.terms && wanted_terms OFFSET 0) AS i
        JOIN usable_memories(wanted_persona, reached) AS m USING (memory)
        CROSS JOIN LATERAL (
            SELECT array_agg(w.term) AS held, sum(w.mass) AS mass
            FROM unnest(wanted_terms, masses) AS w (term, mass)
            WHERE w.term = ANY (i.terms)
        ) AS h
        ORDER BY h.mass DESC, i.memory
        LIMIT wanted;
END $$;
REVOKE ALL ON FUNCTION memories_holding FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memories_holding TO vademecum_app;
