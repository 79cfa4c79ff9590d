-- One row for each task that waits or runs; a task that has ended has none.
-- AUTOINCREMENT: an id is never given out twice, so that an attempt which ends
-- after its row was cancelled cannot touch the row that replaced it.
CREATE TABLE task (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    kind        TEXT    NOT NULL,
    video_id    TEXT    NOT NULL,
    number      INTEGER NOT NULL,
    priority    INTEGER NOT NULL,
    run_at      BIGINT  NOT NULL,
    state       TEXT    NOT NULL CHECK (state IN ('ready', 'running')),
    attempt     INTEGER NOT NULL CHECK (attempt >= 0),
    enqueued_at BIGINT  NOT NULL
);

-- The name. The video comes first because Cancel looks for all of its tasks.
CREATE UNIQUE INDEX task_name ON task (video_id, kind, number);

-- The order of claiming. run_at is in it so that tasks which are not due yet are
-- skipped without reading the table.
CREATE INDEX task_claim ON task (priority, id, run_at) WHERE state = 'ready';
