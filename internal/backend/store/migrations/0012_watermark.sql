-- Pictures that are laid over videos.
CREATE TABLE watermark (
	id         TEXT PRIMARY KEY,
	tenant     TEXT NOT NULL,
	name       TEXT NOT NULL,
	width      INTEGER NOT NULL, -- in pixels
	height     INTEGER NOT NULL,
	picture    TEXT NOT NULL,    -- a PNG, in base64
	created_at BIGINT NOT NULL,
	deleted_at BIGINT            -- its picture stays until no video has it
);
CREATE INDEX watermark_by_tenant ON watermark (tenant, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX watermark_deleted ON watermark (deleted_at) WHERE deleted_at IS NOT NULL;

-- How a video's watermark is laid over it: JSON.
ALTER TABLE video ADD COLUMN watermark TEXT;
ALTER TABLE video ADD COLUMN watermark_id TEXT REFERENCES watermark (id);
CREATE INDEX video_by_watermark ON video (watermark_id) WHERE watermark_id IS NOT NULL;

-- What new videos of a tenant get that choose none: JSON.
ALTER TABLE tenant ADD COLUMN watermark TEXT;
