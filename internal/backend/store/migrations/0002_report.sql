-- What the work on a video cost, over all runs of child processes.
CREATE TABLE effort (
	video_id TEXT PRIMARY KEY REFERENCES video (id) ON DELETE CASCADE,
	runs     BIGINT NOT NULL,
	wall_us  BIGINT NOT NULL,
	cpu_us   BIGINT NOT NULL,
	began_at BIGINT,          -- when the first run started
	ended_at BIGINT           -- when the video became ready or failed
);

-- The runs themselves, as far as they are kept: a bounded number for each video.
CREATE TABLE run (
	video_id   TEXT NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	position   BIGINT NOT NULL, -- among all runs of the video, from 1
	task       TEXT NOT NULL,
	number     INTEGER NOT NULL,
	attempt    INTEGER NOT NULL,
	program    TEXT NOT NULL,
	arguments  TEXT NOT NULL,   -- a JSON list
	started_at BIGINT NOT NULL,
	wall_us    BIGINT NOT NULL,
	cpu_us     BIGINT NOT NULL,
	memory     BIGINT NOT NULL, -- bytes at most; 0 when not known
	result     TEXT NOT NULL,
	PRIMARY KEY (video_id, position)
);

-- What a person should know about a video that is ready all the same: a JSON list.
ALTER TABLE video ADD COLUMN warnings TEXT;

-- How much an output looks like its source, once measured.
ALTER TABLE resolution ADD COLUMN ssim DOUBLE PRECISION;
ALTER TABLE resolution ADD COLUMN psnr DOUBLE PRECISION;
