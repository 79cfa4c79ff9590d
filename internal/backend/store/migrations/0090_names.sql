-- What a search by words reads: the names of a tenant's videos in the order of the list,
-- and nothing else, so that rows with large plans are not touched.
CREATE INDEX video_named ON video (tenant, created_at, id, filename, title) WHERE deleted_at IS NULL;
