-- On which sites a video may be played.
ALTER TABLE video ADD COLUMN allowed_origins TEXT; -- a JSON list; NULL: everywhere
ALTER TABLE video ADD COLUMN allow_no_origin BOOLEAN NOT NULL DEFAULT FALSE; -- also for requests that name no site
