-- What `spool workers` shows. steady_at is the time since when a worker was never
-- silent for too long. All times are by the clock of the database.
ALTER TABLE queue_worker
    ADD COLUMN host       TEXT        NOT NULL DEFAULT '',
    ADD COLUMN slots      INTEGER     NOT NULL DEFAULT 0, -- how many tasks it runs at a time
    ADD COLUMN started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    ADD COLUMN steady_at  TIMESTAMPTZ NOT NULL DEFAULT now(),
    ADD COLUMN done       BIGINT      NOT NULL DEFAULT 0,
    ADD COLUMN failed     BIGINT      NOT NULL DEFAULT 0;

-- turn is the fair-share slot of a task: see the package comment of queue. Older
-- tasks belong to no tenant, and keep their order.
UPDATE river_job
   SET args = args || '{"tenant": ""}',
       metadata = metadata || jsonb_build_object('turn', metadata->>'place', 'seq', id)
 WHERE queue = 'spool' AND NOT metadata ? 'turn';

-- Enqueue looks for a tenant's last slot.
CREATE INDEX queue_task_turn ON river_job ((args->>'tenant'), scheduled_at)
    WHERE state = 'available' AND queue = 'spool';

-- In its slot a tenant runs its most urgent task.
CREATE INDEX queue_task_urgent
    ON river_job ((args->>'tenant'), ((args->>'priority')::bigint), ((metadata->>'seq')::bigint))
    WHERE state = 'available' AND queue = 'spool';
