-- Idempotency records: which video a client's Idempotency-Key stands for. The video
-- may be gone.
CREATE TABLE promise (
	tenant     TEXT   NOT NULL,
	key        TEXT   NOT NULL,
	digest     TEXT   NOT NULL, -- of what the request asked for
	video_id   TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (tenant, key)
);

-- To delete old records.
CREATE INDEX promise_age ON promise (created_at);
