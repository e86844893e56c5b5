import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { currentAllocationsQuery, projectsQuery, type RecordedEvent } from '@/api/compute';
import { words } from '@/format/size';
import { Icon, type IconName } from '@/ui/Icon';
import { Mono, Time } from '@/ui/Values';
import { pageOf } from './resources';

const ICONS: Readonly<Record<string, IconName>> = {
  allocation: 'allocations',
  journal: 'billing',
  wallet: 'billing',
  payment: 'billing',
  invoice: 'invoice',
  budget: 'limits',
  quota: 'limits',
  project: 'project',
  member: 'members',
  invitation: 'members',
  key: 'key',
  ssh_key: 'key',
  service_account: 'robot',
  webhook: 'webhook',
  webhook_delivery: 'webhook',
  policy: 'policy',
  access_session: 'terminal',
  access_ticket: 'terminal',
  recording: 'record',
  organization: 'building',
  refund: 'billing',
  correction: 'billing',
};

/** What happened, in words: the subject is a noun and a verb. */
export function eventWords(subject: string): string {
  return words(subject);
}

export function EventList({ org, events }: { org: string; events: readonly RecordedEvent[] }) {
  const nameOf = useNames(org);
  return (
    <ul className="divide-y">
      {events.map((event) => (
        <li key={event.id} className="flex items-center gap-3 px-4 py-2.5">
          <Icon
            name={ICONS[event.subject.split('.')[0] ?? ''] ?? 'events'}
            size={16}
            className="text-faint"
          />
          <span className="min-w-0 grow">
            {eventWords(event.subject)}
            {event.resource && <About org={org} resource={event.resource} name={nameOf(event.resource)} />}
          </span>
          <span className="text-sm text-faint">
            <Time at={event.at} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Names of projects and of what runs now; of the rest the end of an id tells it apart. */
function useNames(org: string): (id: string) => string | undefined {
  const projects = useQuery(projectsQuery(org));
  const running = useQuery(currentAllocationsQuery(org, projects.data));
  return (id) =>
    [...(projects.data ?? []), ...(running.data ?? [])].find((it) => it.id === id)?.name ?? undefined;
}

/** What it is about: its page, or else what was done to it. */
function About({ org, resource, name }: { org: string; resource: string; name: string | undefined }) {
  const page = pageOf(org, resource) ?? `/o/${org}/audit?resource=${resource}`;
  return (
    <Link
      to={page as '/'}
      title={resource}
      className="ml-2 whitespace-nowrap text-faint underline decoration-line underline-offset-3 hover:text-ink hover:decoration-current max-md:hidden"
    >
      {name ?? <Mono>…{resource.slice(-6)}</Mono>}
    </Link>
  );
}
