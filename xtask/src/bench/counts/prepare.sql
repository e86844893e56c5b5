-- Notes every wake and every claim of the work queue, in a schema of its own.
CREATE SCHEMA bench;
CREATE UNLOGGED TABLE bench.queue (what text NOT NULL, kind text NOT NULL);
CREATE FUNCTION bench.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF TG_OP = 'INSERT' OR NEW.wakes > OLD.wakes THEN
    INSERT INTO bench.queue VALUES ('wake', NEW.kind);
  END IF;
  IF TG_OP = 'UPDATE' AND NEW.lease IS NOT NULL AND NEW.lease IS DISTINCT FROM OLD.lease THEN
    INSERT INTO bench.queue VALUES ('visit', NEW.kind);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER bench_note AFTER INSERT OR UPDATE ON work FOR EACH ROW EXECUTE FUNCTION bench.note();
GRANT USAGE ON SCHEMA bench TO PUBLIC;
