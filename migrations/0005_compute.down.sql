DROP TABLE tasks;
DROP FUNCTION silent_since;
DROP TABLE allocation_keys, allocation_parts, allocations;
DROP FUNCTION counts_against_limits, count_stopped_time;
DROP TABLE quotas, skus;
