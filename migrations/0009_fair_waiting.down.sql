ALTER TABLE allocations DROP COLUMN could_run, DROP COLUMN reserved_at;
ALTER TABLE nodes DROP COLUMN reserved_for;
