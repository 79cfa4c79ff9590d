-- Videos that expire, and among them those whose webhooks are still to be told.
CREATE INDEX video_expires ON video (expires_at) WHERE expires_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX video_expiry_untold ON video (expires_at) WHERE expires_at IS NOT NULL AND deleted_at IS NULL AND NOT expiry_told;
