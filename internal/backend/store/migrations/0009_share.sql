-- Pages for people without a key.
CREATE TABLE share (
	id         TEXT PRIMARY KEY,
	video_id   TEXT NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	secret     TEXT NOT NULL UNIQUE, -- what the address of the page ends with
	label      TEXT NOT NULL,
	password   TEXT NOT NULL,        -- argon2id; empty: none
	download   BOOLEAN NOT NULL,     -- the page offers the file
	created_at BIGINT NOT NULL,
	expires_at BIGINT
);
CREATE INDEX share_by_video ON share (video_id, created_at, id);
