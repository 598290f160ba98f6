-- What has been learned from which turns, and where they were spoken.
-- Runs as the role that owns the schema; search_path is vademecum, public.

-- The speaker's time zone as the application told it, an IANA name, "" where it did not.
ALTER TABLE turn ADD zone text NOT NULL DEFAULT '';

-- All turns of a conversation up to `learned_through` are learned from; what has failed waits till
-- `learn_after`. What was said before this step is not: nobody knew that it would be.
ALTER TABLE conversation
    ADD learned_through bigint NOT NULL DEFAULT 0,
    ADD learn_attempts int NOT NULL DEFAULT 0,
    ADD learn_after timestamptz NOT NULL DEFAULT '-infinity';
UPDATE conversation SET learned_through = saved_through;
CREATE INDEX conversation_unlearned ON conversation (tenant, last_at)
    WHERE saved_through > learned_through;
