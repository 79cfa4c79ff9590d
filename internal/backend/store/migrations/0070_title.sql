-- What people call a video. NULL: the client gave none, and the file name stands for it.
ALTER TABLE video ADD COLUMN title TEXT;
