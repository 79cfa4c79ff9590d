-- When the file of a video was replaced last, in milliseconds. NULL: never, or before there was this.
ALTER TABLE video ADD COLUMN replaced_at BIGINT;
