-- When a task was last interrupted for another tenant. There is one row.
CREATE TABLE queue_yield (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    at  TIMESTAMPTZ NOT NULL -- by the clock of the database
);
INSERT INTO queue_yield (one, at) VALUES (1, '2000-01-01T00:00:00Z');
