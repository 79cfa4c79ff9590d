-- What a task belongs to in a trace.
ALTER TABLE task ADD COLUMN trace TEXT NOT NULL DEFAULT '';
