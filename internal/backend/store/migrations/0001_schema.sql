-- The schema of version 0.1.0, for SQLite and PostgreSQL. A released file is never changed: what
-- a later version needs is a file of its own. Times are milliseconds since 1970, UTC.

-- The ID by which the storage knows this database: one row. (A restore that begins again keeps this
-- table and the next one.)
CREATE TABLE IF NOT EXISTS database_identity (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	id  TEXT NOT NULL
);

-- A restore or a migration that fills this database: a row while it runs or after it was interrupted.
CREATE TABLE IF NOT EXISTS restore_in_progress (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	begun_at BIGINT NOT NULL
);

-- API keys, without their secrets.
CREATE TABLE api_key (
	id         TEXT PRIMARY KEY,
	name       TEXT NOT NULL,
	tenant     TEXT NOT NULL,
	scopes     TEXT NOT NULL,        -- separated by commas
	hash       TEXT NOT NULL UNIQUE, -- SHA-256 of the secret, hexadecimal
	created_at BIGINT NOT NULL,
	expires_at BIGINT,
	revoked_at BIGINT,
	made_by    TEXT NOT NULL DEFAULT '' -- the key that made it over the API; empty: the operator made it
);
CREATE INDEX api_key_by_tenant ON api_key (tenant, created_at, id);

-- Keys that sign upload and playback addresses.
CREATE TABLE signing_key (
	id         TEXT PRIMARY KEY,
	secret     TEXT NOT NULL,
	created_at BIGINT NOT NULL
);

-- What each tenant uses and may use. The statements that change videos keep the counts. A limit of 0 is none.
CREATE TABLE tenant (
	name          TEXT PRIMARY KEY,
	videos        BIGINT NOT NULL DEFAULT 0,
	bytes         BIGINT NOT NULL DEFAULT 0,
	in_work       BIGINT NOT NULL DEFAULT 0,
	processed_day BIGINT NOT NULL DEFAULT 0, -- the last day on which a video was accepted, in days since 1970, UTC
	processed_us  BIGINT NOT NULL DEFAULT 0, -- the length of the videos that were accepted on that day
	max_videos    BIGINT NOT NULL DEFAULT 0,
	max_bytes     BIGINT NOT NULL DEFAULT 0,
	max_minutes   DOUBLE PRECISION NOT NULL DEFAULT 0, -- a day
	max_in_work   BIGINT NOT NULL DEFAULT 0
);

-- Videos.
CREATE TABLE video (
	id                TEXT PRIMARY KEY,
	tenant            TEXT NOT NULL,
	key_id            TEXT NOT NULL,    -- the API key that created it; may be gone
	filename          TEXT NOT NULL,
	title             TEXT NOT NULL,
	title_key         TEXT NOT NULL,    -- what lists are ordered by: the title without case and accents, hexadecimal
	content_type      TEXT NOT NULL,
	is_public         BOOLEAN NOT NULL,
	upscale           BOOLEAN NOT NULL,
	codecs            TEXT,             -- in which it is made beside H.264: a JSON list; NULL: in none
	metadata          TEXT,             -- customMetadata, as the client sent it
	thumbnails        TEXT NOT NULL,    -- timestamps in seconds: a JSON list
	status            TEXT NOT NULL CHECK (status IN ('pending_upload', 'processing', 'ready', 'fail')),
	failure_code      TEXT,
	failure_message   TEXT,
	created_at        BIGINT NOT NULL,
	upload_expires_at BIGINT NOT NULL,
	completed_at      BIGINT,
	playable_at       BIGINT,           -- when it could be played first
	deleted_at        BIGINT,           -- its files are being removed
	import_progress   BIGINT,           -- how much of sourceUrl was fetched, in millionths; NULL: a client uploads the file
	source_key        TEXT,             -- the object with the file that is transcoded
	source_size       BIGINT,
	source_etag       TEXT,
	duration_us       BIGINT NOT NULL,  -- 0: not known
	size_bytes        BIGINT NOT NULL,  -- of all its files
	plan              TEXT,             -- how it is transcoded: JSON
	warnings          TEXT,             -- about a video that is ready nevertheless: a JSON list
	files             TEXT              -- published files that belong to no resolution: a JSON list
);

-- The list of a tenant's videos, and the same for one status. A page is a contiguous part of one of them.
CREATE INDEX video_list ON video (tenant, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX video_list_by_status ON video (tenant, status, created_at, id) WHERE deleted_at IS NULL;

-- The same list in other orders.
CREATE INDEX video_list_by_title ON video (tenant, title_key, id) WHERE deleted_at IS NULL;
CREATE INDEX video_list_by_duration ON video (tenant, duration_us, id) WHERE deleted_at IS NULL;
CREATE INDEX video_list_by_size ON video (tenant, size_bytes, id) WHERE deleted_at IS NULL;

-- What a search by words reads: names in the order of the list, without rows that have large plans. Also which are public.
CREATE INDEX video_names ON video (tenant, created_at, id, filename, title, is_public) WHERE deleted_at IS NULL;

-- Videos that periodic jobs look for: uploads that expire, failed uploads, work to reconcile, deletions to finish.
CREATE INDEX video_pending_upload ON video (upload_expires_at) WHERE status = 'pending_upload';
CREATE INDEX video_failed_upload ON video (upload_expires_at) WHERE status = 'fail' AND completed_at IS NULL;
CREATE INDEX video_processing ON video (id) WHERE status = 'processing';
CREATE INDEX video_with_codecs ON video (id) WHERE codecs IS NOT NULL AND status = 'ready';
CREATE INDEX video_deleted ON video (deleted_at) WHERE deleted_at IS NOT NULL;

-- The resolutions of a video, each a file.
CREATE TABLE resolution (
	id              TEXT PRIMARY KEY,
	video_id        TEXT NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	name            TEXT NOT NULL,
	position        INTEGER NOT NULL,  -- in the order requested
	status          TEXT NOT NULL CHECK (status IN ('pending_upload', 'processing', 'ready', 'fail')),
	failure_code    TEXT,
	failure_message TEXT,
	width           INTEGER,
	height          INTEGER,
	size_bytes      BIGINT,
	bitrate         BIGINT,
	variants        TEXT,              -- what became of it in other codecs: a JSON list; NULL: nothing yet
	ssim            DOUBLE PRECISION,  -- how close it is to the source, once measured
	psnr            DOUBLE PRECISION,
	no_better_than  TEXT,              -- the next smaller resolution, if this one looks no better
	UNIQUE (video_id, name)
);

-- The steps of a video's plan, until it is finished. The queue runs tasks of the same names; the result of a task
-- counts once, by the done_at that it sets here.
CREATE TABLE step (
	video_id  TEXT NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	kind      TEXT NOT NULL,
	number    INTEGER NOT NULL,
	weight    DOUBLE PRECISION NOT NULL, -- share of the work
	progress  DOUBLE PRECISION NOT NULL, -- 0 to 1
	faults    INTEGER NOT NULL,          -- failures of unknown cause
	frames    BIGINT NOT NULL,           -- frames encoded, when done
	done_at   BIGINT,
	execution TEXT NOT NULL DEFAULT '',  -- which execution of the task made its files: they are not written to again
	PRIMARY KEY (video_id, kind, number)
);

-- The index of metadata: a row for each value at the top level. A page of a search is a contiguous part of the
-- primary key.
CREATE TABLE metadata_index (
	hash       BIGINT NOT NULL, -- of tenant, key and value
	created_at BIGINT NOT NULL, -- of the video
	video_id   TEXT   NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	PRIMARY KEY (hash, created_at, video_id)
);
CREATE INDEX metadata_index_by_video ON metadata_index (video_id);

-- What the work on a video cost: the sum of all executions of child processes.
CREATE TABLE video_cost (
	video_id   TEXT PRIMARY KEY REFERENCES video (id) ON DELETE CASCADE,
	executions BIGINT NOT NULL,
	wall_us    BIGINT NOT NULL,
	cpu_us     BIGINT NOT NULL,
	began_at   BIGINT,          -- when the first execution started
	ended_at   BIGINT           -- when the video became ready or failed
);

-- The executions of child processes: a limited number for each video.
CREATE TABLE execution (
	video_id   TEXT NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	position   BIGINT NOT NULL, -- among all executions of the video, from 1
	task       TEXT NOT NULL,
	number     INTEGER NOT NULL,
	attempt    INTEGER NOT NULL,
	program    TEXT NOT NULL,
	arguments  TEXT NOT NULL,   -- a JSON list
	started_at BIGINT NOT NULL,
	wall_us    BIGINT NOT NULL,
	cpu_us     BIGINT NOT NULL,
	memory     BIGINT NOT NULL, -- peak in bytes; 0 if unknown
	result     TEXT NOT NULL,
	PRIMARY KEY (video_id, position)
);

-- Which video an Idempotency-Key stands for. The video may be gone.
CREATE TABLE idempotency_key (
	tenant     TEXT   NOT NULL,
	key        TEXT   NOT NULL,
	digest     TEXT   NOT NULL, -- of what the request asked for
	video_id   TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (tenant, key)
);
CREATE INDEX idempotency_key_by_age ON idempotency_key (created_at);

-- When each periodic job was last started, and when the last complete backup was (PostgreSQL: by any process).
CREATE TABLE periodic_job (
	name     TEXT PRIMARY KEY,
	begun_at BIGINT NOT NULL
);

-- Which process writes to a resumable upload, on PostgreSQL. The lease of a dead process expires.
CREATE TABLE upload_lease (
	video_id TEXT    PRIMARY KEY,
	token    TEXT    NOT NULL, -- identifies this acquisition
	process  TEXT    NOT NULL, -- the holder
	wanted   BOOLEAN NOT NULL, -- another process has requested it
	ends_at  BIGINT  NOT NULL  -- by the clock of the database
);

-- Backups that run now. While there is one, nothing is removed of a video that exists.
CREATE TABLE backup_hold (
	id      TEXT   PRIMARY KEY,
	ends_at BIGINT NOT NULL -- when it counts as dead, by the clock of the database
);

-- How much lies in each area of the storage, as the last sweep counted it.
CREATE TABLE storage_usage (
	area       TEXT PRIMARY KEY,
	objects    BIGINT NOT NULL,
	bytes      BIGINT NOT NULL,
	counted_at BIGINT NOT NULL
);

-- Where events are sent. Without a URL, somebody fetches them (pull).
CREATE TABLE webhook (
	id              TEXT PRIMARY KEY,
	tenant          TEXT NOT NULL,
	url             TEXT NOT NULL,
	pull            BOOLEAN NOT NULL,
	events          TEXT NOT NULL, -- types, separated by commas; empty: all
	description     TEXT NOT NULL,
	enabled         BOOLEAN NOT NULL,
	disabled_reason TEXT NOT NULL DEFAULT '',
	created_at      BIGINT NOT NULL
);
CREATE INDEX webhook_by_tenant ON webhook (tenant, created_at, id);

-- What signs the messages of a webhook. Workers may read the table above, but not this one.
CREATE TABLE webhook_secret (
	webhook_id TEXT NOT NULL,
	secret     TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT, -- set when another one has replaced it
	PRIMARY KEY (webhook_id, secret)
);

-- What happened, with the video as it was then.
CREATE TABLE webhook_event (
	id         TEXT PRIMARY KEY,
	type       TEXT NOT NULL,
	video_id   TEXT NOT NULL, -- may be gone; empty for a test
	created_at BIGINT NOT NULL,
	snapshot   TEXT NOT NULL
);
CREATE INDEX webhook_event_by_age ON webhook_event (created_at);

-- One event for one webhook, with the log of its tries.
CREATE TABLE webhook_delivery (
	id         TEXT PRIMARY KEY,
	webhook_id TEXT NOT NULL,
	event_id   TEXT NOT NULL,
	tenant     TEXT NOT NULL,
	type       TEXT NOT NULL,
	video_id   TEXT NOT NULL,
	state      TEXT NOT NULL,             -- pending, held (for somebody who fetches), delivered or failed
	tries      BIGINT NOT NULL DEFAULT 0, -- since the last replay
	attempts   TEXT NOT NULL DEFAULT '[]',
	created_at BIGINT NOT NULL,
	next_at    BIGINT, -- of the next try; of one that was fetched: when that ends
	lease      TEXT    -- of one that was fetched: by whom; of one that is sent: its last replay
);
CREATE INDEX webhook_delivery_log ON webhook_delivery (webhook_id, created_at, id);
CREATE INDEX webhook_delivery_by_state ON webhook_delivery (webhook_id, state, created_at, id);
CREATE INDEX webhook_delivery_by_age ON webhook_delivery (created_at);
CREATE INDEX webhook_delivery_by_event ON webhook_delivery (event_id);
CREATE INDEX webhook_delivery_held ON webhook_delivery (webhook_id, next_at) WHERE state = 'held';
CREATE INDEX webhook_delivery_oldest ON webhook_delivery (created_at) WHERE state = 'pending';

-- Files that Spool fetches from a sourceUrl. A row goes when its video is accepted or deleted. URLs may hold
-- credentials, so workers have no right to this table (docs/database.md).
CREATE TABLE video_import (
	video_id   TEXT PRIMARY KEY REFERENCES video (id) ON DELETE CASCADE,
	url        TEXT NOT NULL,
	started_at BIGINT, -- of the first try
	trouble_at BIGINT, -- when the tries began that bring nothing
	tries      BIGINT NOT NULL DEFAULT 0, -- of those
	peak       BIGINT NOT NULL DEFAULT 0, -- the most bytes that any try had
	etag       TEXT NOT NULL DEFAULT '',  -- which version of the file the stored bytes are of
	modified   TEXT NOT NULL DEFAULT ''
);

-- What a CDN is still to be told to forget. A row goes when it has confirmed.
CREATE TABLE cdn_purge (
	id         TEXT PRIMARY KEY,
	video_id   TEXT NOT NULL, -- may be gone
	reason     TEXT NOT NULL,
	files      TEXT NOT NULL, -- the names of the files, as a JSON list
	tries      BIGINT NOT NULL DEFAULT 0, -- that failed
	created_at BIGINT NOT NULL
);
