-- The sound tracks of a video, as JSON; NULL: it was not inspected, or was made before videos had several.
ALTER TABLE video ADD COLUMN sound TEXT;
