-- Webhooks that were disabled, while deliveries to them are still open. Those are ended in small steps.
CREATE TABLE webhook_ending (
	id       TEXT PRIMARY KEY,
	began_at BIGINT NOT NULL
);
