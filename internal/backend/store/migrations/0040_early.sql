-- When a video could be played although it was still being encoded.
ALTER TABLE video ADD COLUMN playable_at BIGINT;

-- Of the files that a step has stored: what tells them from those of another execution of the same
-- task. Nothing writes to them again, because people may be watching them.
ALTER TABLE step ADD COLUMN run TEXT NOT NULL DEFAULT '';
