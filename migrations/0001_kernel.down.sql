DROP TABLE secrets;
DROP FUNCTION wake_together, is_awaited;
DROP TABLE work, idempotency, seals, audit, dead_letters, consumed, consumers, outbox, installation, legal_moves;
DROP FUNCTION guard_state, forbid_change;
DROP PROCEDURE tenant_table, secure_table;
DROP FUNCTION scope_principal, scope_user, scope_organization, app_clock, app_now;
-- The roles stay: they belong to the cluster, and other databases may use them.
REVOKE SELECT ON _sqlx_migrations FROM gpuaas_public, gpuaas_system;
REVOKE USAGE ON SCHEMA public FROM gpuaas_public, gpuaas_identity, gpuaas_person, gpuaas_tenant, gpuaas_operator, gpuaas_system;
