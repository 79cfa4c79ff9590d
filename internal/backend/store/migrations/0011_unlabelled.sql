-- Videos whose metadata a search has to read, because it is not in the index.
CREATE INDEX video_unlabelled ON video (tenant, created_at, id)
	WHERE labelled IS NOT TRUE AND metadata IS NOT NULL AND deleted_at IS NULL;

-- Those of them that are to be indexed.
CREATE INDEX video_to_label ON video (id)
	WHERE labelled IS NULL AND metadata IS NOT NULL AND deleted_at IS NULL;
