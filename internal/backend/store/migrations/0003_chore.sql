-- Run-once locks: when each periodic job of the fleet was last started.
CREATE TABLE chore (
	name     TEXT PRIMARY KEY,
	begun_at BIGINT NOT NULL
);
