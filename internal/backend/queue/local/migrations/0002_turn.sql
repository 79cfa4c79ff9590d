-- Tenants take turns: see the package comment of queue.
ALTER TABLE task ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;

-- The order of turns, and of a tenant's tasks within its turn; run_at is in both
-- so that tasks which are not due yet are passed over without a look at the table.
DROP INDEX task_claim;
CREATE INDEX task_turn ON task (turn, id, run_at) WHERE state = 'ready';
CREATE INDEX task_urgent ON task (tenant, priority, id, run_at) WHERE state = 'ready';

-- What enqueuing looks for: a tenant's last turn, and the turn that is now.
CREATE INDEX task_last ON task (tenant, turn) WHERE state = 'ready';
CREATE INDEX task_now ON task (turn) WHERE state = 'running';
