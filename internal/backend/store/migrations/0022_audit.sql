-- Who changed what. Rows outlive what they tell of.
CREATE TABLE audit_entry (
	id         TEXT PRIMARY KEY,
	at         BIGINT NOT NULL,
	tenant     TEXT NOT NULL, -- whose log it belongs to
	action     TEXT NOT NULL, -- such as video.create
	actor_kind TEXT NOT NULL, -- key, person, system
	actor_id   TEXT NOT NULL,
	actor_name TEXT NOT NULL,
	video_id   TEXT,          -- it may be deleted
	target     TEXT,          -- what the change is about besides
	address    TEXT NOT NULL  -- that the request came from; empty: from no network
);
CREATE INDEX audit_by_tenant ON audit_entry (tenant, at, id);
CREATE INDEX audit_by_actor ON audit_entry (tenant, actor_id, at, id);
CREATE INDEX audit_by_action ON audit_entry (tenant, action, at, id);
CREATE INDEX audit_by_age ON audit_entry (at);
