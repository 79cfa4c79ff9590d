-- How long a video may be, as its client said with maxDurationSeconds. 0: of any length.
ALTER TABLE video ADD COLUMN max_duration_us BIGINT NOT NULL DEFAULT 0;
