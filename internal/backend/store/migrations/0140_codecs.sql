-- In which codecs a video is made beside H.264: a JSON list. NULL: in none.
ALTER TABLE video ADD COLUMN codecs TEXT;

-- What became of a resolution in these codecs: a JSON list. NULL: nothing yet.
ALTER TABLE resolution ADD COLUMN variants TEXT;
