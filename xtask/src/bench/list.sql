-- Listing an organization's projects as bare SQL: the page and one row more, which
-- says whether there is another, with the filter and the order of the server, in as
-- many round trips. One such script per organization: SET takes no parameters.
-- Words in capitals are replaced before it is run.
\startpipeline
BEGIN READ ONLY;
SET LOCAL ROLE gpuaas_tenant;
SET LOCAL app.organization = 'ORGANIZATION';
\endpipeline
SELECT id, organization_id, name, state, version, created_at FROM projects
  WHERE organization_id = 'ORGANIZATION' AND state <> 'deleted' ORDER BY id DESC LIMIT 51;
COMMIT;
