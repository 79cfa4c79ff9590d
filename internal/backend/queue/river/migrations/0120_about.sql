-- What a worker is, for those who look at the fleet.
ALTER TABLE queue_worker
    ADD COLUMN version TEXT   NOT NULL DEFAULT '',
    ADD COLUMN sandbox TEXT   NOT NULL DEFAULT '',
    ADD COLUMN cores   BIGINT NOT NULL DEFAULT 0;
