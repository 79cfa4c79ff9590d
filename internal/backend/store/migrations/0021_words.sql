-- The search in what is said: videos that have captions, in the order of their creation.
CREATE TABLE said_video (
	video_id TEXT PRIMARY KEY REFERENCES video (id) ON DELETE CASCADE,
	number   BIGINT NOT NULL UNIQUE -- from the time of its creation
);

-- What is said in some neighbouring cues of a file with captions.
CREATE TABLE said_block (
	id       BIGINT PRIMARY KEY, -- the number of the video, which of its files, which block of that
	video_id TEXT NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	file     TEXT NOT NULL,
	language TEXT NOT NULL,
	words    TEXT NOT NULL,      -- what a search finds, each once, with a word for the tenant
	cues     TEXT NOT NULL       -- when each cue is shown, and its text: a JSON list
);
CREATE INDEX said_block_by_file ON said_block (video_id, file);
