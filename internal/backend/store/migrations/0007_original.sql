-- The SHA-256 of the file that was uploaded, hexadecimal; NULL: its bytes did not all pass through Spool.
ALTER TABLE video ADD COLUMN source_sha256 TEXT;

-- The hash of a file while it arrives. It counts for an object with this ETag alone.
CREATE TABLE upload_hash (
	video_id TEXT PRIMARY KEY REFERENCES video (id) ON DELETE CASCADE,
	token    TEXT NOT NULL,            -- identifies this upload: another one replaces it
	bytes    BIGINT NOT NULL,          -- that are hashed
	state    TEXT NOT NULL,            -- of the hash after them
	etag     TEXT NOT NULL DEFAULT '', -- of the whole file; empty: it is not complete
	sha256   TEXT NOT NULL DEFAULT ''
);
