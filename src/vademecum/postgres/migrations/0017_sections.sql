-- Where the section of a chunk begins and ends in its revision's text, for chunks that are searched
-- in place of a larger stretch that answers. The text is not kept twice: it is cut from there.
-- Runs as the role that owns the schema; search_path is vademecum, public.

ALTER TABLE chunk
    ADD COLUMN section_start int,
    ADD COLUMN section_end int,
    ADD CONSTRAINT chunk_in_its_section CHECK (
        (section_start IS NULL) = (section_end IS NULL)
        AND (section_start IS NULL OR section_start <= start_offset AND section_end >= end_offset));
