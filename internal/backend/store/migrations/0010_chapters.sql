-- The chapters of a video. If a client has removed them, the list is empty, so that the chapters of its file do not come back.
CREATE TABLE chapter_list (
	video_id TEXT PRIMARY KEY REFERENCES video (id) ON DELETE CASCADE,
	source   TEXT NOT NULL, -- uploaded (by a client) or embedded (in the file)
	chapters TEXT NOT NULL  -- a JSON list
);
