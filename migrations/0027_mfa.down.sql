DROP POLICY identity_reads_mfa ON policies;
ALTER TABLE keys DROP COLUMN mfa_at;
ALTER TABLE sessions DROP COLUMN mfa_at;
DROP TABLE mfa_throttles;
DROP TABLE mfa_challenges;
DROP TABLE mfa_recovery_codes;
DROP TABLE mfa_factors;
