-- What the operator's programs make of what is said in a video: JSON. NULL: nothing was asked for.
ALTER TABLE video ADD COLUMN speech TEXT;
