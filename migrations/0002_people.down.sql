-- In one statement, because policies of some tables look into others.
DROP TABLE policies, keys, service_accounts, projects, invitations, memberships, mfa_throttles, mfa_challenges,
  mfa_recovery_codes, mfa_factors, known_places, used_id_tokens, oidc_starts, refresh_tokens, sessions, ssh_keys,
  account_tokens, identity_links, users, organizations;
