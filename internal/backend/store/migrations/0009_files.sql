-- The published files of a video that belong to none of its resolutions: a JSON list.
ALTER TABLE video ADD COLUMN files TEXT;
