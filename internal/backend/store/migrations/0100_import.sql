-- How much of its file Spool has fetched itself, in millionths. NULL: a client uploads the file.
ALTER TABLE video ADD COLUMN import_progress BIGINT;

-- Files that are to be fetched. A row goes when its video is accepted or deleted. URLs may hold
-- credentials, so workers have no right to this table (docs/database.md).
CREATE TABLE video_import (
	video_id   TEXT PRIMARY KEY REFERENCES video (id) ON DELETE CASCADE,
	tenant     TEXT NOT NULL,
	url        TEXT NOT NULL,
	next_at    BIGINT, -- of the next try, or when the lease of the present one ends; NULL: it failed
	lease      TEXT,   -- the claim that is being tried; a later one ends it
	started_at BIGINT, -- of the first try
	trouble_at BIGINT, -- when the tries began that bring nothing
	tries      BIGINT NOT NULL DEFAULT 0, -- of those
	peak       BIGINT NOT NULL DEFAULT 0, -- the most bytes that any try had
	etag       TEXT NOT NULL DEFAULT '',  -- which version of the file the stored bytes are of
	modified   TEXT NOT NULL DEFAULT ''
);
CREATE INDEX video_import_lane ON video_import (tenant, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX video_import_due ON video_import (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX video_import_leased ON video_import (lease) WHERE lease IS NOT NULL;
