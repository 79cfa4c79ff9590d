-- The tags of a video, in the order of its client: a JSON list; NULL: none. The index of metadata has them, too.
ALTER TABLE video ADD COLUMN tags TEXT;

-- How many videos of a tenant have a tag. The statements that change videos keep the counts.
CREATE TABLE tag (
	tenant   TEXT   NOT NULL,
	name     TEXT   NOT NULL,
	sort_key TEXT   NOT NULL, -- what lists are ordered by, made as video.title_key is
	videos   BIGINT NOT NULL,
	PRIMARY KEY (tenant, name)
);
CREATE INDEX tag_list ON tag (tenant, sort_key, name);
