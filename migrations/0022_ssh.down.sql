DROP INDEX ssh_keys_by_fingerprint;
