-- turn is the fair-share slot of a task: see the package comment of queue.
ALTER TABLE task ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;

-- The order of slots, and of a tenant's tasks within its slot. run_at is in both
-- so that tasks which are not due yet are skipped without reading the table.
DROP INDEX task_claim;
CREATE INDEX task_turn ON task (turn, id, run_at) WHERE state = 'ready';
CREATE INDEX task_urgent ON task (tenant, priority, id, run_at) WHERE state = 'ready';

-- What Enqueue looks for: a tenant's last slot, and the current slot.
CREATE INDEX task_last ON task (tenant, turn) WHERE state = 'ready';
CREATE INDEX task_now ON task (turn) WHERE state = 'running';
