-- The API key that created a video. It may be gone.
ALTER TABLE video ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
