-- What lies in the storage, as the last sweep counted it: one row for each area.
CREATE TABLE stored (
	area       TEXT PRIMARY KEY,
	objects    BIGINT NOT NULL,
	bytes      BIGINT NOT NULL,
	counted_at BIGINT NOT NULL
);
