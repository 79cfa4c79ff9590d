-- Keys that could do everything still can: there is one more thing to do.
UPDATE api_key SET scopes = scopes || ',admin'
 WHERE scopes LIKE '%read%' AND scopes LIKE '%write%' AND scopes LIKE '%delete%' AND scopes NOT LIKE '%admin%';
