-- The index of metadata: a row for each member of a video's metadata that a filter
-- can ask for. hash is that of tenant, key and value, so a row is small whatever
-- their size. A page of a search is a contiguous part of the primary key.
CREATE TABLE label (
	hash       BIGINT NOT NULL,
	created_at BIGINT NOT NULL, -- of the video
	video_id   TEXT   NOT NULL REFERENCES video (id) ON DELETE CASCADE,
	PRIMARY KEY (hash, created_at, video_id)
);

-- To delete those of a video.
CREATE INDEX label_of_video ON label (video_id);

-- Whether the metadata of a video is in the index. NULL: not yet, because the video
-- was stored before there was one. FALSE: never, it has too many members.
ALTER TABLE video ADD COLUMN labelled BOOLEAN;
