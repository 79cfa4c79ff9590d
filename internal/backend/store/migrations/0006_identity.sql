-- What the storage knows this database by. There is one.
CREATE TABLE identity (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	id  TEXT NOT NULL
);
