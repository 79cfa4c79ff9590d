-- What the deliveries of each tenant that are still open take, and which of them are the oldest.
CREATE INDEX webhook_delivery_open ON webhook_delivery (tenant, state, created_at, bytes) WHERE state = 'pending' OR state = 'held';
