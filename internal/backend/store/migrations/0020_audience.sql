-- What was watched: sums by hour and by day, of each video and of each tenant. lists is JSON: devices, qualities, parts of the film.
CREATE TABLE audience_video (
	video_id   TEXT NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	tenant     TEXT NOT NULL,
	span       TEXT NOT NULL,             -- hour or day
	at         BIGINT NOT NULL,           -- its beginning
	views      BIGINT NOT NULL DEFAULT 0,
	quiet      BIGINT NOT NULL DEFAULT 0, -- of these, views of people who do not want to be counted any further
	followed   BIGINT NOT NULL DEFAULT 0, -- of these, views of players that tell where in the film they are
	completed  BIGINT NOT NULL DEFAULT 0,
	viewers    BIGINT NOT NULL DEFAULT 0, -- of the day, who came first in this hour
	watched_ms BIGINT NOT NULL DEFAULT 0,
	stalls     BIGINT NOT NULL DEFAULT 0,
	stalled_ms BIGINT NOT NULL DEFAULT 0,
	failures   BIGINT NOT NULL DEFAULT 0,
	bytes      BIGINT NOT NULL DEFAULT 0,
	lists      TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (video_id, span, at)
);
CREATE INDEX audience_video_top ON audience_video (tenant, at, watched_ms, video_id, views) WHERE span = 'day';
CREATE INDEX audience_video_at ON audience_video (at);

CREATE TABLE audience_tenant (
	tenant     TEXT NOT NULL,
	span       TEXT NOT NULL,
	at         BIGINT NOT NULL,
	views      BIGINT NOT NULL DEFAULT 0,
	quiet      BIGINT NOT NULL DEFAULT 0,
	followed   BIGINT NOT NULL DEFAULT 0,
	completed  BIGINT NOT NULL DEFAULT 0,
	viewers    BIGINT NOT NULL DEFAULT 0,
	watched_ms BIGINT NOT NULL DEFAULT 0,
	stalls     BIGINT NOT NULL DEFAULT 0,
	stalled_ms BIGINT NOT NULL DEFAULT 0,
	failures   BIGINT NOT NULL DEFAULT 0,
	bytes      BIGINT NOT NULL DEFAULT 0,
	lists      TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (tenant, span, at)
);
CREATE INDEX audience_tenant_at ON audience_tenant (at);

-- Who watched a video on a day, as numbers that only the salt of the day could lead back from. Both are removed when the
-- day is over. A row whose address is 0 is a session that is counted once.
CREATE TABLE audience_viewer (
	video_id TEXT NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	day      BIGINT NOT NULL,
	address  BIGINT NOT NULL,
	hash     BIGINT NOT NULL,
	PRIMARY KEY (video_id, day, address, hash)
);
CREATE INDEX audience_viewer_day ON audience_viewer (day);

CREATE TABLE audience_salt (
	day  BIGINT PRIMARY KEY,
	salt TEXT NOT NULL
);

-- The codecs that a video got because it was watched much: a JSON list; NULL: none.
ALTER TABLE video ADD COLUMN popular_codecs TEXT;
