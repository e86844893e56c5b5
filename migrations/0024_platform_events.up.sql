-- Staff read events of everybody, and go on after one that they know.
CREATE INDEX outbox_by_id ON outbox (id);
CREATE INDEX outbox_by_resource ON outbox (resource, id);
-- A node's page shows what the node was told to do.
CREATE INDEX tasks_by_node ON tasks (node_id, created_at);
-- What was earned is summed by the day on which it was posted.
CREATE INDEX journals_by_time ON journals (at);
