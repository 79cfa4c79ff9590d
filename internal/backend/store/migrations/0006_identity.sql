-- The id by which the storage knows this database. There is one row.
CREATE TABLE identity (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	id  TEXT NOT NULL
);
