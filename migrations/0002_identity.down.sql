DROP TABLE policies, keys, service_accounts, projects, invitations, memberships,
  oidc_starts, refresh_tokens, sessions, identity_links, users, organizations CASCADE;
