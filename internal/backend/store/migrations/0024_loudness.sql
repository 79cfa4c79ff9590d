-- What becomes of the loudness of the sound, as its client said or the server's setting was. NULL: it stays as it is.
ALTER TABLE video ADD COLUMN loudness TEXT;
