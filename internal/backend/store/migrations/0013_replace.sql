-- A row that replaces another one's file is hidden: when it is ready, the other video takes what it has.
ALTER TABLE video ADD COLUMN replaces TEXT;
CREATE INDEX video_hidden ON video (tenant, id) WHERE replaces IS NOT NULL;
CREATE UNIQUE INDEX video_replacement ON video (replaces) WHERE replaces IS NOT NULL AND deleted_at IS NULL;

-- Where the objects lie of the file that was replaced last, and until when they are kept.
ALTER TABLE video ADD COLUMN before_in TEXT;
ALTER TABLE video ADD COLUMN before_until BIGINT;
CREATE INDEX video_before ON video (before_in) WHERE before_in IS NOT NULL;
