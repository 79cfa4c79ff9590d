-- Backups that run now, each with the time at which it counts as dead (by the clock of the database).
-- While there is one, nothing is removed of a video that lives.
CREATE TABLE backup_hold (
	id      TEXT   PRIMARY KEY,
	ends_at BIGINT NOT NULL
);

-- There is a row while a restore or a migration fills this database: nobody else may use it.
CREATE TABLE restoring (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	begun_at BIGINT NOT NULL
);
