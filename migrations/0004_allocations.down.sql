DROP TABLE tasks, allocation_parts, allocations;
