-- The API key that made a key over the API; empty: the operator made it.
ALTER TABLE api_key ADD COLUMN made_by TEXT NOT NULL DEFAULT '';

-- The keys of a tenant, newest first, for clients that manage their own.
CREATE INDEX api_key_by_tenant ON api_key (tenant, created_at, id);

-- From now on, a tenant has its row as soon as it has a key.
INSERT INTO tenant (name)
SELECT DISTINCT api_key.tenant FROM api_key
 WHERE api_key.tenant NOT IN (SELECT tenant.name FROM tenant)
ON CONFLICT (name) DO NOTHING; -- a server of the version before may make it at this moment
