-- Requests that waited too long get room, and those that can never run hold nobody up.

-- Kept free for this allocation, which waits: nothing else is placed there.
ALTER TABLE nodes ADD COLUMN reserved_for uuid;
CREATE INDEX nodes_reserved ON nodes (reserved_for) WHERE reserved_for IS NOT NULL;

-- False while it would not fit even if nothing else were on the nodes in service.
ALTER TABLE allocations ADD COLUMN could_run boolean NOT NULL DEFAULT true;
-- Since when nodes are kept free for it.
ALTER TABLE allocations ADD COLUMN reserved_at timestamptz;
