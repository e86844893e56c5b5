DROP TABLE telemetry_late, telemetry_progress, gpu_rollups, node_rollups, gpu_samples, node_samples;
DROP TABLE maintenance_notices, maintenance_nodes, maintenance_windows, agent_updates, machines, providers;
DROP TABLE node_changes, slots, enrollment_tokens, node_certificates, node_heartbeats, nodes, pools, regions;
DROP FUNCTION note_node_change;
