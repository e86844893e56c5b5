-- Getting a project as bare SQL: what the server sends once it knows the caller,
-- in as many round trips. One such script per organization: SET takes no
-- parameters. Words in capitals are replaced before it is run.
\startpipeline
BEGIN READ ONLY;
SET LOCAL ROLE gpuaas_tenant;
SET LOCAL app.organization = 'ORGANIZATION';
\endpipeline
SELECT id, organization_id, name, state, version, created_at FROM projects WHERE id = 'PROJECT';
COMMIT;
