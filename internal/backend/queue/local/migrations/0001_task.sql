-- One row for each task that waits or runs; a task that has ended has none.
-- AUTOINCREMENT: an id is never used twice, so that an attempt which ends after its
-- row was cancelled cannot touch the row that replaced it.
CREATE TABLE task (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    kind     TEXT    NOT NULL,
    video_id TEXT    NOT NULL, -- '' if it belongs to none
    number   INTEGER NOT NULL,
    item     TEXT    NOT NULL, -- what it is about if that is no video, or ''
    lane     TEXT    NOT NULL,
    tenant   TEXT    NOT NULL,
    endpoint TEXT    NOT NULL,
    share    TEXT    NOT NULL, -- with which others it shares places
    rank     INTEGER NOT NULL, -- 0: it was put back and runs first; 1: ordinary; 2: spare
    priority INTEGER NOT NULL,
    due_at   BIGINT  NOT NULL, -- in milliseconds
    state    TEXT    NOT NULL CHECK (state IN ('later', 'ready', 'running')),
    attempt  INTEGER NOT NULL CHECK (attempt >= 0),
    trace    TEXT    NOT NULL
);

-- The name. The video comes first because Cancel looks for all of its tasks.
CREATE UNIQUE INDEX task_name ON task (video_id, kind, number, item);
-- The shares that wait on a lane, and the first task of each.
CREATE INDEX task_ready ON task (lane, share, rank, priority, id) WHERE state = 'ready';
-- What becomes due next.
CREATE INDEX task_later ON task (lane, due_at) WHERE state = 'later';
