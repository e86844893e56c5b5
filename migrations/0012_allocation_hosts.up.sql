-- Where to log in: the name of the host, as it was when the allocation came there.
ALTER TABLE allocation_parts ADD COLUMN host text;
UPDATE allocation_parts p SET host = n.name FROM nodes n WHERE n.id = p.node_id;
