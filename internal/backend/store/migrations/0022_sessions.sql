-- People who are signed in, in browsers.
CREATE TABLE session (
	id         TEXT PRIMARY KEY,
	hash       TEXT NOT NULL UNIQUE, -- of what the cookie holds
	once       TEXT NOT NULL UNIQUE, -- hash of the sign-in that it came from, which counts once
	key_id     TEXT,                 -- the key that it stands for; NULL: it is of a person of an OpenID provider
	issuer     TEXT NOT NULL,        -- that vouched for the person
	subject    TEXT NOT NULL,        -- the issuer's ID of the person
	address    TEXT NOT NULL,        -- e-mail; empty: the issuer told none, or does not vouch for it
	name       TEXT NOT NULL,
	claim      TEXT NOT NULL,        -- which claim was read,
	granted    TEXT NOT NULL,        -- and what it said: a JSON list of texts
	tenant     TEXT NOT NULL,        -- that the person has chosen
	client     TEXT NOT NULL,        -- IP address of the sign-in
	browser    TEXT NOT NULL,        -- what the browser calls itself
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL
);
CREATE INDEX session_by_tenant ON session (tenant, created_at, id);
CREATE INDEX session_by_time ON session (created_at, id);
CREATE INDEX session_expires ON session (expires_at);
