-- What a delivery takes of the disk: a share of its event, and its own row. When space runs short, it is
-- taken from the tenant that uses the most.
ALTER TABLE webhook_delivery ADD COLUMN bytes BIGINT NOT NULL DEFAULT 1000;

-- Webhooks that were removed, while their log is still there. It is removed in small steps.
CREATE TABLE webhook_removed (
	id         TEXT PRIMARY KEY,
	removed_at BIGINT NOT NULL
);
