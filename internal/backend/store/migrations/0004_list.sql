-- The list of a tenant's videos, newest first, and the same of one status. A
-- page is a stretch of one of them, wherever it begins.
CREATE INDEX video_listed ON video (tenant, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX video_listed_by_status ON video (tenant, status, created_at, id) WHERE deleted_at IS NULL;
