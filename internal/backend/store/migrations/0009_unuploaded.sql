-- Videos that failed because of their upload, which are removed some time later.
CREATE INDEX video_unuploaded ON video (upload_expires_at) WHERE status = 'fail' AND completed_at IS NULL;
