-- Who is just writing to which upload in pieces, on PostgreSQL, until when by the
-- clock of the database. A process that dies leaves its row, which ends by itself.
CREATE TABLE upload_lease (
	video_id TEXT    PRIMARY KEY,
	token    TEXT    NOT NULL, -- of this holding
	process  TEXT    NOT NULL, -- whose it is
	wanted   BOOLEAN NOT NULL, -- by somebody else
	ends_at  BIGINT  NOT NULL
);
