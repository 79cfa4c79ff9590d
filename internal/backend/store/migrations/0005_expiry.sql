-- When a video is deleted by itself; NULL: never. And whether its webhooks were told that this is soon.
ALTER TABLE video ADD COLUMN expires_at BIGINT;
ALTER TABLE video ADD COLUMN expiry_told BOOLEAN NOT NULL DEFAULT FALSE;
