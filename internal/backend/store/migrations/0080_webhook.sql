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

-- What signs the messages of a webhook. Apart from it, because workers may read that table.
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

-- One event for one webhook. state is pending, held (for somebody who fetches), delivered or failed.
CREATE TABLE webhook_delivery (
	id         TEXT PRIMARY KEY,
	webhook_id TEXT NOT NULL,
	event_id   TEXT NOT NULL,
	tenant     TEXT NOT NULL,
	type       TEXT NOT NULL,
	video_id   TEXT NOT NULL,
	state      TEXT NOT NULL,
	tries      BIGINT NOT NULL DEFAULT 0, -- since the last replay
	attempts   TEXT NOT NULL DEFAULT '[]',
	created_at BIGINT NOT NULL,
	next_at    BIGINT, -- of the next try, or when the lease of the present one ends
	lease      TEXT    -- the claim that is being tried; a later one ends it
);
CREATE INDEX webhook_delivery_log ON webhook_delivery (webhook_id, created_at, id);
CREATE INDEX webhook_delivery_by_state ON webhook_delivery (webhook_id, state, created_at, id);
CREATE INDEX webhook_delivery_by_age ON webhook_delivery (created_at);
CREATE INDEX webhook_delivery_lane ON webhook_delivery (webhook_id, next_at) WHERE state = 'pending';
CREATE INDEX webhook_delivery_held ON webhook_delivery (webhook_id, next_at) WHERE state = 'held';
CREATE INDEX webhook_delivery_due ON webhook_delivery (next_at) WHERE state = 'pending';
CREATE INDEX webhook_delivery_oldest ON webhook_delivery (created_at) WHERE state = 'pending';
CREATE INDEX webhook_delivery_leased ON webhook_delivery (lease) WHERE lease IS NOT NULL;
