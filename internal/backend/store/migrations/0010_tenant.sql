-- What each tenant uses and may use. The counts are kept by the statements that
-- change videos. film_us is how much film was accepted on the day film_day, in days
-- since 1970, UTC. A limit of 0 is none.
CREATE TABLE tenant (
	name        TEXT PRIMARY KEY,
	videos      BIGINT NOT NULL DEFAULT 0,
	bytes       BIGINT NOT NULL DEFAULT 0,
	in_work     BIGINT NOT NULL DEFAULT 0,
	film_day    BIGINT NOT NULL DEFAULT 0,
	film_us     BIGINT NOT NULL DEFAULT 0,
	max_videos  BIGINT NOT NULL DEFAULT 0,
	max_bytes   BIGINT NOT NULL DEFAULT 0,
	max_minutes DOUBLE PRECISION NOT NULL DEFAULT 0, -- a day
	max_in_work BIGINT NOT NULL DEFAULT 0
);

-- Count what exists. See countColumns in tenants.go.
INSERT INTO tenant (name, videos, bytes, in_work, film_day)
SELECT tenant,
       count(*) FILTER (WHERE NOT (status = 'fail' AND completed_at IS NULL)),
       coalesce(sum(source_size), 0),
       count(*) FILTER (WHERE status = 'processing'),
       coalesce(max(completed_at) / 86400000, 0)
  FROM video
 WHERE deleted_at IS NULL
 GROUP BY tenant;

-- The film of the latest day that had any. If that is today, it still counts.
UPDATE tenant
   SET film_us = coalesce((SELECT sum(duration_us) FROM video
                            WHERE video.tenant = tenant.name AND video.deleted_at IS NULL
                              AND video.completed_at / 86400000 = tenant.film_day), 0);

INSERT INTO tenant (name)
SELECT DISTINCT api_key.tenant FROM api_key
 WHERE api_key.tenant NOT IN (SELECT tenant.name FROM tenant);
