-- Whether a file with sound and no picture is accepted, too, as its client said or the server's setting was.
ALTER TABLE video ADD COLUMN accept_audio BOOLEAN NOT NULL DEFAULT FALSE;
