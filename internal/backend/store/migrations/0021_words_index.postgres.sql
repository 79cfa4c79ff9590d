-- By which words the blocks are found.
CREATE INDEX said_block_words ON said_block USING gin (array_to_tsvector(string_to_array(words, ' '))) WITH (fastupdate = off);
