-- Whether the picture of a source may be copied, as its client said. NULL: it is encoded.
ALTER TABLE video ADD COLUMN copy_source TEXT;
-- Whether the picture of a file is the source's own.
ALTER TABLE resolution ADD COLUMN copied BOOLEAN NOT NULL DEFAULT FALSE;
