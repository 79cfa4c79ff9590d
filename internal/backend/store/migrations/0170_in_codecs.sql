-- Ready videos that are made in other codecs than H.264, too. What they lack is reconciled
-- periodically.
CREATE INDEX video_in_codecs ON video (id) WHERE codecs IS NOT NULL AND status = 'ready';
