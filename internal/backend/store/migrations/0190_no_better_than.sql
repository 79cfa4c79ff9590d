-- The next smaller resolution, where an output looks no better than that; known when it was measured.
ALTER TABLE resolution ADD COLUMN no_better_than TEXT;
