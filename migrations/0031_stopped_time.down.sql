DROP FUNCTION counts_against_limits(text, timestamptz);
DROP TRIGGER count_stopped_time ON allocations;
DROP FUNCTION count_stopped_time();
ALTER TABLE allocations DROP COLUMN stopped_since;
