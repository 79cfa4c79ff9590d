-- The list of a tenant's videos, newest first, and the same for one status. A page
-- is a contiguous part of one of them.
CREATE INDEX video_listed ON video (tenant, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX video_listed_by_status ON video (tenant, status, created_at, id) WHERE deleted_at IS NULL;
