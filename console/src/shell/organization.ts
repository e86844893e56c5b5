/** The organization that is looked at: the address names it, or it is the last one. */

import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { type Organization, organizationsQuery } from '@/api/people';
import { recall } from './remember';

export function useOrganizationId(): string | undefined {
  const { org } = useParams({ strict: false }) as { org?: string };
  const organizations = useQuery(organizationsQuery());
  if (org) return org;
  const list = organizations.data ?? [];
  const last = recall('organization');
  return list.find((it) => it.id === last)?.id ?? list[0]?.id;
}

/** For pages whose address names one. */
export function useOrg(): string {
  const { org } = useParams({ strict: false }) as { org?: string };
  return org ?? '';
}

export function useOrganization(): Organization | undefined {
  const id = useOrganizationId();
  const organizations = useQuery(organizationsQuery());
  return organizations.data?.find((it) => it.id === id);
}

export type Act = 'use' | 'pay' | 'administer';

const MAY: Record<Act, readonly string[]> = {
  use: ['owner', 'admin', 'member'],
  pay: ['owner', 'admin', 'billing'],
  administer: ['owner', 'admin'],
};

/** What a role is shown buttons for; the API decides. */
export function mayDo(organization: Organization | undefined, act: Act): boolean {
  return Boolean(
    organization?.role && MAY[act].includes(organization.role) && organization.state === 'active',
  );
}

export function useMay(act: Act): boolean {
  return mayDo(useOrganization(), act);
}
