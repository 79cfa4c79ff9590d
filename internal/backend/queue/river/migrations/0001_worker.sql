-- The workers and their last heartbeats. The tasks are rows of River's table
-- river_job, which names its worker in attempted_by.
CREATE TABLE queue_worker (
    id      TEXT PRIMARY KEY,
    seen_at TIMESTAMPTZ NOT NULL -- by the clock of the database
);

-- Cancel looks for all tasks of a video.
CREATE INDEX queue_task_video ON river_job ((args->>'video'));
