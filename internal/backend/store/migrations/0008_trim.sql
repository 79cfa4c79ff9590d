-- The part of the file that a video is made of, as JSON; NULL: all of it.
ALTER TABLE video ADD COLUMN trim TEXT;
