-- How many events no consumer has read and how many audit entries no seal covers.
SELECT
  (SELECT count(*) FROM consumers c JOIN outbox o ON (o.epoch, o.xid, o.place) > (c.epoch, c.xid, c.place))
  + (SELECT count(*) FROM audit a
     WHERE (a.epoch, a.xid) > (SELECT last_epoch, last_xid FROM seals ORDER BY number DESC LIMIT 1));
