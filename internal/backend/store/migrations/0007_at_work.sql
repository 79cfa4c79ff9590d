-- Videos at work, which are looked after now and then.
CREATE INDEX video_at_work ON video (id) WHERE status = 'processing';
