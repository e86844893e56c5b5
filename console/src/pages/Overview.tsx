import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Allocation, currentAllocationsQuery, projectsQuery, recentEventsQuery } from '@/api/compute';
import { balanceQuery } from '@/api/money';
import { money } from '@/format/money';
import { plural } from '@/format/size';
import { duration } from '@/format/time';
import { now } from '@/session/clock';
import { useMay, useOrg, useOrganization } from '@/shell/organization';
import { overview } from '@/strings';
import { buttonLook } from '@/ui/Button';
import { Stat, Stats } from '@/ui/Card';
import { Icon } from '@/ui/Icon';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Time } from '@/ui/Values';
import { Announced } from './Announced';
import { AllocationTable } from './AllocationTable';
import { EventList } from './EventList';

/** What holds GPUs; one that waits holds none. */
function gpusHeld(allocations: readonly Allocation[]): number {
  return allocations
    .filter((it) => it.state !== 'requested')
    .reduce((sum, it) => sum + it.gpus * it.nodes, 0);
}

export function Overview() {
  const org = useOrg();
  const organization = useOrganization();
  const may = useMay('use');
  const projects = useQuery(projectsQuery(org));
  const current = useQuery(currentAllocationsQuery(org, projects.data));
  const balance = useQuery(balanceQuery(org));
  const events = useQuery(recentEventsQuery(org));
  const wallet = balance.data?.items[0];
  const active = current.data?.filter((it) => it.state === 'active') ?? [];
  return (
    <Page
      title={organization?.name ?? overview.title}
      actions={
        may && (
          <Link to="/o/$org/launch" params={{ org }} className={buttonLook('primary')}>
            <Icon name="plus" size={16} />
            {overview.launch}
          </Link>
        )
      }
    >
      <Announced org={org} />
      <Stats>
        <Stat
          label={overview.running}
          value={current.data ? active.length : '…'}
          detail={current.data && overview.runningDetail(gpusHeld(current.data))}
        />
        <Stat
          label={overview.burn}
          value={wallet ? money(wallet.burn_micros_per_hour, wallet.currency) : balance.data ? '–' : '…'}
          detail={wallet && overview.burnDaily(money(wallet.burn_micros_per_hour * 24, wallet.currency))}
        />
        <Stat
          label={overview.balance}
          value={wallet ? money(wallet.available_micros, wallet.currency) : balance.data ? '–' : '…'}
          detail={
            wallet && (
              <>
                {overview.held(money(wallet.held_micros, wallet.currency))} ·{' '}
                <Link
                  to="/o/$org/billing"
                  params={{ org }}
                  className="whitespace-nowrap text-accent-ink underline"
                >
                  {overview.topUp}
                </Link>
              </>
            )
          }
        />
        <Stat
          label={overview.runway}
          value={wallet?.lasts_until ? lasting(wallet.lasts_until) : overview.runwayNone}
          detail={
            wallet?.lasts_until ? (
              <>
                {overview.runwayUntil} <Time at={wallet.lasts_until} as="local" />
              </>
            ) : (
              wallet && overview.runwayIdle
            )
          }
        />
      </Stats>
      <List
        title={overview.allocations}
        actions={
          <Link to="/o/$org/allocations" params={{ org }} className="text-sm text-accent-ink hover:underline">
            {overview.allAllocations}
          </Link>
        }

        query={current}
        rows={(items) => <AllocationTable items={items} projects={projects.data ?? []} />}
        empty={{
          icon: 'allocations',
          title: overview.noneTitle,
          lead: overview.noneLead,
          command: overview.noneCommand,
          action: may && (
            <Link to="/o/$org/launch" params={{ org }} className={buttonLook('primary')}>
              {overview.launch}
            </Link>
          ),
        }}
      />
      <List
        title={overview.events}
        actions={
          <Link to="/o/$org/events" params={{ org }} className="text-sm text-accent-ink hover:underline">
            {overview.allEvents}
          </Link>
        }

        query={{ ...events, data: events.data?.items }}
        rows={(items) => <EventList org={org} events={items} />}
        empty={overview.noEvents}
      />
    </Page>
  );
}

function lasting(until: string): string {
  const seconds = (Date.parse(until) - now()) / 1000;
  return seconds >= 2 * 86_400 ? plural(Math.floor(seconds / 86_400), 'day') : duration(seconds);
}
