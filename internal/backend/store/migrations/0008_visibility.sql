-- A change of isPublic that is not finished: the files move between the areas public/ and private/.
ALTER TABLE video ADD COLUMN moving_to TEXT; -- 'public', 'private'; NULL: the files are where is_public says
ALTER TABLE video ADD COLUMN moving_at BIGINT; -- when a process last worked on that

CREATE INDEX video_moving ON video (moving_at) WHERE moving_to IS NOT NULL;
