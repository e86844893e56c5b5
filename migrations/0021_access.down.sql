DROP TABLE recording_chunks, recording_segments, recordings, access_sessions, access_tickets,
  gateway_beats, gateway_certificates, gateways;
DROP FUNCTION node_region;
