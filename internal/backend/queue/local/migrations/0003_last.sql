-- Claim looks for the first task of each tenant that is due. run_at is in the index
-- so that tasks which are not due yet are skipped without reading the table.
DROP INDEX task_last;
CREATE INDEX task_last ON task (tenant, turn, id, run_at) WHERE state = 'ready';
