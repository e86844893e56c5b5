ALTER TABLE access_sessions DROP COLUMN recording_id, DROP COLUMN recording_parts, DROP COLUMN records_input;
