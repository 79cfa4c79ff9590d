CREATE TABLE api_key (
	id         TEXT PRIMARY KEY,
	name       TEXT NOT NULL,
	tenant     TEXT NOT NULL,
	scopes     TEXT NOT NULL,        -- separated by commas
	hash       TEXT NOT NULL UNIQUE, -- SHA-256 of the secret, hexadecimal
	created_at BIGINT NOT NULL,
	expires_at BIGINT,
	revoked_at BIGINT
);

CREATE TABLE signing_key (
	id         TEXT PRIMARY KEY,
	secret     TEXT NOT NULL,
	created_at BIGINT NOT NULL
);

CREATE TABLE video (
	id                TEXT PRIMARY KEY,
	tenant            TEXT NOT NULL,
	filename          TEXT NOT NULL,
	content_type      TEXT NOT NULL,
	is_public         BOOLEAN NOT NULL,
	upscale           BOOLEAN NOT NULL,
	metadata          TEXT,
	thumbnails        TEXT NOT NULL,
	status            TEXT NOT NULL CHECK (status IN ('pending_upload', 'processing', 'ready', 'fail')),
	failure_code      TEXT,
	failure_message   TEXT,
	created_at        BIGINT NOT NULL,
	upload_expires_at BIGINT NOT NULL,
	completed_at      BIGINT,
	deleted_at        BIGINT,
	source_key        TEXT,
	source_size       BIGINT,
	source_etag       TEXT,
	duration_us       BIGINT,
	plan              TEXT
);

-- Uploads that were never completed, for the hourly clean-up.
CREATE INDEX video_waiting ON video (upload_expires_at) WHERE status = 'pending_upload';

-- Videos that are marked deleted and not removed yet.
CREATE INDEX video_doomed ON video (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE resolution (
	id              TEXT PRIMARY KEY,
	video_id        TEXT NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	name            TEXT NOT NULL,
	position        INTEGER NOT NULL, -- in the order requested
	status          TEXT NOT NULL CHECK (status IN ('pending_upload', 'processing', 'ready', 'fail')),
	failure_code    TEXT,
	failure_message TEXT,
	width           INTEGER,
	height          INTEGER,
	size_bytes      BIGINT,
	bitrate         BIGINT,
	UNIQUE (video_id, name)
);

-- The steps of a video's plan. The queue runs tasks of the same names; the result
-- of a task counts only once, by the done_at that it sets here.
CREATE TABLE step (
	video_id TEXT NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	kind     TEXT NOT NULL,
	number   INTEGER NOT NULL,
	weight   DOUBLE PRECISION NOT NULL, -- share of the work
	progress DOUBLE PRECISION NOT NULL, -- 0 to 1
	faults   INTEGER NOT NULL,          -- failures of unknown cause
	frames   BIGINT NOT NULL,           -- frames encoded, when done
	done_at  BIGINT,
	PRIMARY KEY (video_id, kind, number)
);
