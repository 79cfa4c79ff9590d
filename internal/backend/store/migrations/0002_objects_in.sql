-- Under which ID the objects of a video lie in the storage. NULL: under its own.
ALTER TABLE video ADD COLUMN objects_in TEXT;
CREATE INDEX video_by_objects ON video (objects_in) WHERE objects_in IS NOT NULL;
ALTER TABLE cdn_purge ADD COLUMN objects_in TEXT;
