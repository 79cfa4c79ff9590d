-- The profile that a client chose, with its values at that time, as JSON; NULL: none.
ALTER TABLE video ADD COLUMN profile TEXT;
