-- A recording, and each of its segments, begins with its first piece. Until then
-- only the session knows which recording it would have, and how many parts of it
-- gateways were told to write.

ALTER TABLE access_sessions
  ADD COLUMN recording_id uuid UNIQUE,
  ADD COLUMN recording_parts integer NOT NULL DEFAULT 0 CHECK (recording_parts >= 0),
  ADD COLUMN records_input boolean NOT NULL DEFAULT false;
