DROP TABLE telemetry_late, telemetry_progress, gpu_rollups, node_rollups, gpu_samples, node_samples;
