-- How a tenant looks to the people who watch its videos. An empty text is the usual look.
CREATE TABLE brand (
	tenant TEXT PRIMARY KEY,
	name   TEXT NOT NULL,
	url    TEXT NOT NULL,
	color  TEXT NOT NULL,
	logo   TEXT NOT NULL, -- the name of a brand_picture
	icon   TEXT NOT NULL
);

-- The pictures of brands. Their name is their hash, so a changed picture has another address.
CREATE TABLE brand_picture (
	tenant  TEXT NOT NULL,
	name    TEXT NOT NULL, -- such as 3f2a….svg
	picture TEXT NOT NULL, -- in base64
	PRIMARY KEY (tenant, name)
);
CREATE INDEX brand_picture_by_name ON brand_picture (name);
