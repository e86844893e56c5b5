ALTER TABLE allocation_parts DROP COLUMN host;
