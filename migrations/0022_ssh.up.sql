-- Whose key it is that somebody shows to a gateway.

CREATE INDEX ssh_keys_by_fingerprint ON ssh_keys (fingerprint, id);
