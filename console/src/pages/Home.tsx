/** `/` leads to the overview of the organization that was looked at last. */

import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { whoamiQuery } from '@/api/people';
import { useOrganizationId } from '@/shell/organization';

export function Home() {
  const organization = useOrganizationId();
  const me = useQuery(whoamiQuery());
  if (!organization && me.data?.user?.platform_role) return <Navigate to="/platform/fleet" replace />;
  if (!organization) return <Navigate to="/welcome" replace />;
  return <Navigate to="/o/$org" params={{ org: organization }} replace />;
}
