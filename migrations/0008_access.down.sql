DROP TABLE recording_chunks, recording_segments, recordings, access_sessions, access_tickets;
DROP FUNCTION node_region;
DROP TABLE gateway_beats, gateway_certificates, gateways;
