-- What is removed first when the disk is short of space: deliveries that have ended, and then the
-- events that no delivery needs any more.
CREATE INDEX webhook_delivery_ended ON webhook_delivery (created_at) WHERE state IN ('delivered', 'failed');
CREATE INDEX webhook_delivery_by_event ON webhook_delivery (event_id);
