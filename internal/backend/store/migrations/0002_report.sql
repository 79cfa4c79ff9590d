-- The cost of a video: the sum over all executions of child processes.
CREATE TABLE effort (
	video_id TEXT PRIMARY KEY REFERENCES video (id) ON DELETE CASCADE,
	runs     BIGINT NOT NULL,
	wall_us  BIGINT NOT NULL,
	cpu_us   BIGINT NOT NULL,
	began_at BIGINT,          -- when the first execution started
	ended_at BIGINT           -- when the video became ready or failed
);

-- The executions of child processes: a limited number for each video.
CREATE TABLE run (
	video_id   TEXT NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	position   BIGINT NOT NULL, -- among all executions of the video, from 1
	task       TEXT NOT NULL,
	number     INTEGER NOT NULL,
	attempt    INTEGER NOT NULL,
	program    TEXT NOT NULL,
	arguments  TEXT NOT NULL,   -- a JSON list
	started_at BIGINT NOT NULL,
	wall_us    BIGINT NOT NULL,
	cpu_us     BIGINT NOT NULL,
	memory     BIGINT NOT NULL, -- peak in bytes; 0 if unknown
	result     TEXT NOT NULL,
	PRIMARY KEY (video_id, position)
);

-- Warnings about a video that is ready nevertheless: a JSON list.
ALTER TABLE video ADD COLUMN warnings TEXT;

-- How close an output is to its source, once measured.
ALTER TABLE resolution ADD COLUMN ssim DOUBLE PRECISION;
ALTER TABLE resolution ADD COLUMN psnr DOUBLE PRECISION;
