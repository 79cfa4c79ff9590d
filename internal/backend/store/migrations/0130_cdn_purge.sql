-- What a CDN is still to be told to forget. Rows go when it has confirmed.
CREATE TABLE cdn_purge (
	id         TEXT PRIMARY KEY,
	video_id   TEXT NOT NULL, -- may be gone
	reason     TEXT NOT NULL,
	files      TEXT NOT NULL, -- the names of the files, as a JSON list
	tries      BIGINT NOT NULL DEFAULT 0,
	created_at BIGINT NOT NULL,
	next_at    BIGINT NOT NULL, -- of the next try, or when the lease of the present one ends
	lease      TEXT NOT NULL DEFAULT ''
);
CREATE INDEX cdn_purge_due ON cdn_purge (next_at);
CREATE INDEX cdn_purge_leased ON cdn_purge (lease) WHERE lease > '';
