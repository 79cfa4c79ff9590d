-- The sound tracks of a video, as JSON; NULL: it was not inspected, or was made before videos had several.
ALTER TABLE video ADD COLUMN sound TEXT;

-- Where the files of sound tracks are fetched from that have not arrived yet.
CREATE TABLE track_import (
	video_id TEXT NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	number   INTEGER NOT NULL, -- of the track
	url      TEXT NOT NULL,
	PRIMARY KEY (video_id, number)
);
