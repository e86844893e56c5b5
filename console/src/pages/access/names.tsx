import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { currentAllocationsQuery, projectsQuery } from '@/api/compute';
import { flat } from '@/api/lists';
import { membersQuery, whoamiQuery } from '@/api/people';
import { access } from '@/strings';
import { Id } from '@/ui/Values';

interface Opened {
  opened_by: string;
  user_id?: string | null | undefined;
}

/** Names of people instead of their ids, where they are members. */
export function useWho(organization: string): (it: Opened) => ReactNode {
  const me = useQuery(whoamiQuery());
  const members = useInfiniteQuery(membersQuery(organization));
  return (it) => {
    if (it.user_id && it.user_id === me.data?.user?.id) return access.sessions.you;
    const member = flat(members.data)?.find((one) => one.user_id === it.user_id);
    return member ? <span title={member.email}>{member.name}</span> : <Id id={it.opened_by} />;
  };
}

/** What runs now has a name; of what is over, the end of its id tells it apart. */
export function useAllocationNames(org: string): (it: { allocation_id: string }) => string {
  const projects = useQuery(projectsQuery(org));
  const current = useQuery(currentAllocationsQuery(org, projects.data));
  return ({ allocation_id: id }) =>
    current.data?.find((it) => it.id === id)?.name ?? `alloc-…${id.slice(-6)}`;
}
