DROP TABLE maintenance_notices, maintenance_nodes, maintenance_windows;
