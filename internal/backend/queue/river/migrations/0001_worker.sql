-- The processes that work, and their last heartbeats, by the clock of the database.
-- The tasks are rows of River's table river_job, which names its process in attempted_by.
CREATE TABLE queue_worker (
    id         TEXT PRIMARY KEY,
    host       TEXT        NOT NULL,
    places     JSONB       NOT NULL, -- how many tasks it runs at a time, by lane
    version    TEXT        NOT NULL,
    sandbox    TEXT        NOT NULL,
    cores      BIGINT      NOT NULL,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    steady_at  TIMESTAMPTZ NOT NULL DEFAULT now(), -- since when it was never silent for too long
    seen_at    TIMESTAMPTZ NOT NULL DEFAULT now(),
    done       BIGINT      NOT NULL DEFAULT 0,
    failed     BIGINT      NOT NULL DEFAULT 0
);

-- Cancel looks for all tasks of a video.
CREATE INDEX queue_job_video ON river_job ((args->>'video')) WHERE finalized_at IS NULL;
-- The shares that wait on a lane, and the first tasks of each. River's priority is 1 when a task is due. A task
-- that was put back is a new job, which knows its first one.
CREATE INDEX queue_job_waiting ON river_job (queue, (args->>'share'), ((args->>'priority')::bigint), coalesce((args->>'first')::bigint, id))
    WHERE state = 'pending' AND priority = 1;
-- When a share was last served.
CREATE INDEX queue_job_served ON river_job (queue, (args->>'share'), attempted_at) WHERE attempted_at IS NOT NULL;
