DROP INDEX journals_by_time;
DROP INDEX tasks_by_node;
DROP INDEX outbox_by_resource;
DROP INDEX outbox_by_id;
