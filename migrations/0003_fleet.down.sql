DROP TABLE ssh_keys, quotas, prices, skus, node_changes, slots, enrollment_tokens, node_certificates, node_heartbeats, nodes, pools, regions;
DROP FUNCTION note_node_change();
