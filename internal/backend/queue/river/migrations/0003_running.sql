-- How many tasks of a tenant run.
CREATE INDEX queue_task_running ON river_job ((args->>'tenant')) WHERE state = 'running' AND queue = 'spool';
