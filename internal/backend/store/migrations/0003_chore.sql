-- When chores that a fleet needs done once in a while were last begun.
CREATE TABLE chore (
	name     TEXT PRIMARY KEY,
	begun_at BIGINT NOT NULL
);
