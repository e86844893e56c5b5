REVOKE INSERT ON checkpoints FROM gpuaas_operator;
DROP FUNCTION silent_since(uuid);
DROP TRIGGER end_at_last_sign_of_life ON usage;
DROP FUNCTION end_at_last_sign_of_life();
ALTER TABLE allocations DROP COLUMN alive_until, DROP COLUMN stop_notified_for;
