-- Videos in processing, which are reconciled periodically.
CREATE INDEX video_at_work ON video (id) WHERE status = 'processing';
