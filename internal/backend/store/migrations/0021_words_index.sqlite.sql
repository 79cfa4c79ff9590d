-- By which words the blocks are found. Words are separated by spaces; their characters stay as they are.
CREATE VIRTUAL TABLE said_index USING fts5 (words, content = 'said_block', content_rowid = 'id', tokenize = 'ascii', detail = none, columnsize = 0);
CREATE TRIGGER said_block_added AFTER INSERT ON said_block BEGIN
	INSERT INTO said_index (rowid, words) VALUES (new.id, new.words);
END;
CREATE TRIGGER said_block_removed AFTER DELETE ON said_block BEGIN
	INSERT INTO said_index (said_index, rowid, words) VALUES ('delete', old.id, old.words);
END;
