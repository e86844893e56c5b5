-- How long something has been stopped, whatever happens in between, and what counts against limits.

ALTER TABLE allocations
  -- From when the time counts that it may stay stopped; kept through starts, also those that fail.
  ADD COLUMN stopped_since timestamptz;

-- Time that it was stopped is paid back by running: a start of a few seconds gives
-- no new week, and somebody who works with it every day never hears of the limit.
-- What a suspension stopped counts from the resume, when the organization's state began.
CREATE FUNCTION count_stopped_time() RETURNS trigger LANGUAGE plpgsql SET role = 'gpuaas_system' AS $$
DECLARE
  -- bound: each hour that it runs takes so many hours off, so that keeping it costs a tenth of that time at least
  paid_back CONSTANT integer := 10;
  ran interval := greatest(NEW.state_since - OLD.state_since, interval '0');
  stopped interval;
BEGIN
  SELECT OLD.state_since - greatest(OLD.stopped_since, o.state_since) INTO stopped
    FROM organizations o WHERE o.id = NEW.organization_id AND OLD.stopped_since IS NOT NULL;
  NEW.stopped_since := NEW.state_since - greatest(stopped - paid_back * ran, interval '0');
  RETURN NEW;
END $$;
CREATE TRIGGER count_stopped_time BEFORE UPDATE OF state ON allocations
  FOR EACH ROW WHEN (OLD.state = 'active' AND NEW.state = 'stopping') EXECUTE FUNCTION count_stopped_time();

-- Whether an allocation counts against limits, quotas and shares: it is not over, and no host of it is lost.
CREATE FUNCTION counts_against_limits(state text, alive_until timestamptz) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN state NOT IN ('released', 'failed') AND alive_until IS NULL;
