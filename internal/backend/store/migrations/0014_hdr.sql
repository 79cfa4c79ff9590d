-- What becomes of a source that is brighter than ordinary screens, as its client said. NULL: it is made for these.
ALTER TABLE video ADD COLUMN hdr TEXT;
