-- Where usage ends when a host is lost, and how long stopped allocations keep their slots.

ALTER TABLE allocations
  -- When a host of it that is lost was last heard: nothing is charged beyond that.
  ADD COLUMN alive_until timestamptz,
  -- Since when it was stopped when its requester was notified that it gives up its slots.
  ADD COLUMN stop_notified_for timestamptz;

-- A host proves that it is alive by being heard. What ended because it is lost
-- ended then, or where more was posted already, where that ends: the rest is
-- refunded by a journal. Runs below the lock that the mark was made under.
CREATE FUNCTION end_at_last_sign_of_life() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
DECLARE
  alive timestamptz;
BEGIN
  SELECT alive_until INTO alive FROM allocations WHERE organization_id = NEW.organization_id AND id = NEW.allocation_id;
  IF alive < NEW.at THEN
    SELECT greatest(alive, b.posted_to, s.at) INTO STRICT NEW.at FROM books b
      JOIN usage s ON s.organization_id = b.organization_id AND s.allocation_id = NEW.allocation_id AND s.version = NEW.interval
      WHERE b.organization_id = NEW.organization_id;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER end_at_last_sign_of_life BEFORE INSERT ON usage
  FOR EACH ROW WHEN (NEW.kind = 'end') EXECUTE FUNCTION end_at_last_sign_of_life();

-- When the host of an allocation that was not heard for longest was last heard;
-- whoever asks knows how long is silent. That goes by what was heard and not by
-- what is said of its health: a host that lies can die, too. Tenants may know that
-- of what is theirs, and nothing else of nodes.
CREATE FUNCTION silent_since(allocation uuid) RETURNS timestamptz LANGUAGE plpgsql STABLE SET role = 'gpuaas_system' AS $$
BEGIN
  RETURN (SELECT min(h.last_seen_at) FROM allocation_parts p
    JOIN node_heartbeats h ON h.node_id = p.node_id WHERE p.allocation_id = allocation);
END $$;

-- Staff post journals, and now and then one is where a balance is written down.
GRANT INSERT ON checkpoints TO gpuaas_operator;
