-- Roles stay: they belong to the cluster, and other databases may use them.
DROP TABLE legal_moves, secrets, dead_letters, consumed, consumers, work, idempotency, seals, audit, outbox, installation CASCADE;
DROP FUNCTION guard_state(), refuse_change(), scope_principal(), scope_user(), scope_organization(), app_now();
