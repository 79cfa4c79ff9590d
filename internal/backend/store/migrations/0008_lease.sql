-- Upload leases, on PostgreSQL: which process writes to a resumable upload, and
-- until when, by the clock of the database. The lease of a dead process expires.
CREATE TABLE upload_lease (
	video_id TEXT    PRIMARY KEY,
	token    TEXT    NOT NULL, -- identifies this acquisition
	process  TEXT    NOT NULL, -- the holder
	wanted   BOOLEAN NOT NULL, -- another process has requested it
	ends_at  BIGINT  NOT NULL
);
