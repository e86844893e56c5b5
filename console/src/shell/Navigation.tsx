import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useRouterState } from '@tanstack/react-router';
import { DropdownMenu } from 'radix-ui';
import { useEffect, useRef } from 'react';
import { organizationsQuery, unreadQuery, whoamiQuery } from '@/api/people';
import { liveness } from '@/live/events';
import { signOut } from '@/session/session';
import { useStore } from '@/session/store';
import { queries } from '@/queries';
import { common, shell } from '@/strings';
import { classes } from '@/ui/classes';
import { Icon } from '@/ui/Icon';
import { Menu, MenuItem } from '@/ui/Menu';
import { useOrganization, useOrganizationId } from './organization';
import { addressOf, mayGo, type Place, PLACES } from './pages';
import { setTheme, theme, type Theme } from './theme';

export function Navigation({ onSearch }: { onSearch: () => void }) {
  const me = useQuery(whoamiQuery());
  const organization = useOrganizationId();
  const unread = useQuery(unreadQuery());
  const isStaff = Boolean(me.data?.user?.platform_role);
  const groups = (Object.keys(shell.groups) as Place['group'][]).filter((it) => mayGo(it, isStaff));
  const list = useRef<HTMLElement>(null);
  const path = useRouterState({ select: (state) => state.location.pathname });
  // The list may be longer than the window; where one is must be seen.
  useEffect(() => {
    list.current?.querySelector('[aria-current=page]')?.scrollIntoView({ block: 'nearest' });
  }, [path, isStaff, organization]);
  return (
    <div className="flex h-full flex-col">
      <div className="flex items-center gap-2 px-4 pt-4 pb-3">
        <img src="/favicon.svg" alt="" className="size-6" />
        <span className="font-semibold tracking-tight">{common.product}</span>
        {(organization || isStaff) && <Live />}
      </div>
      <div className="space-y-2 px-3">
        {organization && <OrganizationMenu />}
        <button
          type="button"
          onClick={onSearch}
          className="flex h-8 w-full items-center gap-2 rounded-lg border bg-sunken px-2.5 text-sm text-faint hover:text-ink"
        >
          <Icon name="search" size={15} />
          <span className="grow text-left">{shell.search}</span>
          <kbd className="font-sans text-xs">Ctrl K</kbd>
        </button>
      </div>
      <nav ref={list} aria-label={shell.navigation} className="mt-3 grow overflow-y-auto px-3 pb-4">
        {groups.map((group) => {
          const places = PLACES.filter(
            (it) => it.group === group && (organization || !it.to.includes('$org')),
          );
          if (places.length === 0) return null;
          return (
            <div key={group} className="mt-3 first:mt-0">
              <p className="px-2.5 pb-1 text-xs font-medium text-faint">{shell.groups[group]}</p>
              <ul>
                {places.map((place) => (
                  <li key={place.to}>
                    <PlaceLink
                      place={place}
                      organization={organization}
                      count={place.icon === 'bell' ? unread.data?.unread : undefined}
                    />
                  </li>
                ))}
              </ul>
            </div>
          );
        })}
      </nav>
      <AccountMenu />
    </div>
  );
}

function PlaceLink({ place, organization, count }: { place: Place; organization?: string; count?: number }) {
  return (
    <Link
      to={addressOf(place, organization) as '/'}
      activeOptions={{ exact: place.to === '/o/$org' || place.to === '/account' }}
      className="flex h-8 scroll-my-4 items-center gap-2.5 rounded-lg px-2.5 text-soft hover:bg-hover hover:text-ink"
      activeProps={{ className: 'bg-sunken font-medium !text-ink' }}
    >
      <Icon name={place.icon} size={17} />
      <span className="grow">{place.name}</span>
      {count ? (
        <span className="numbers rounded-full bg-accent px-1.5 text-xs font-medium text-on-accent">
          {count}
          <span className="sr-only"> {shell.unread(count)}</span>
        </span>
      ) : null}
    </Link>
  );
}

function Live() {
  const is = useStore(liveness);
  const text = is === 'live' ? shell.live : is === 'connecting' ? shell.connecting : shell.lost;
  return (
    <span
      role="status"
      className="ml-auto inline-flex items-center gap-1.5 text-xs text-faint max-md:mr-9"
      title={text}
    >
      <span
        aria-hidden
        className={classes('size-1.5 rounded-full', is === 'live' ? 'bg-ok' : 'animate-pulse bg-warn')}
      />
      {is === 'live' ? shell.live : <span className="sr-only">{text}</span>}
    </span>
  );
}

function OrganizationMenu() {
  const organization = useOrganization();
  const organizations = useQuery(organizationsQuery());
  const navigate = useNavigate();
  return (
    <Menu
      label={shell.switchOrganization}
      trigger={
        <button
          type="button"
          className="flex h-9 w-full items-center gap-2 rounded-lg border bg-surface px-2.5 text-left font-medium hover:bg-hover"
        >
          <span className="min-w-0 grow truncate">{organization?.name ?? shell.organization}</span>
          <Icon name="chevron" size={15} className="text-faint" />
        </button>
      }
    >
      {(organizations.data ?? []).map((it) => (
        <MenuItem
          key={it.id}
          isChosen={it.id === organization?.id}
          onSelect={() => void navigate({ to: '/o/$org', params: { org: it.id } })}
        >
          {it.name}
        </MenuItem>
      ))}
      <DropdownMenu.Separator className="my-1 h-px bg-line" />
      <MenuItem onSelect={() => void navigate({ to: '/welcome' })}>{shell.newOrganization}</MenuItem>
    </Menu>
  );
}

function AccountMenu() {
  const me = useQuery(whoamiQuery());
  const chosen = useStore(theme);
  const navigate = useNavigate();
  const user = me.data?.user;
  const leave = async () => {
    await signOut();
    queries.clear();
  };
  return (
    <div className="border-t p-3">
      <Menu
        label={shell.account}
        trigger={
          <button
            type="button"
            className="flex w-full items-center gap-2.5 rounded-lg px-2 py-1.5 text-left hover:bg-hover"
          >
            <span className="grid size-7 shrink-0 place-items-center rounded-full bg-accent-soft text-xs font-semibold text-accent-ink">
              {(user?.name ?? '?').slice(0, 1).toUpperCase()}
            </span>
            <span className="min-w-0 grow">
              <span className="block truncate text-sm font-medium">{user?.name ?? '…'}</span>
              <span className="block truncate text-xs text-faint">{user?.email}</span>
            </span>
            <Icon name="chevron" size={15} className="text-faint" />
          </button>
        }
      >
        <MenuItem onSelect={() => void navigate({ to: '/account' })}>{shell.account}</MenuItem>
        <DropdownMenu.Separator className="my-1 h-px bg-line" />
        {(['system', 'light', 'dark'] as Theme[]).map((it) => (
          <MenuItem key={it} isChosen={it === chosen} onSelect={() => setTheme(it)}>
            {shell.themes[it]}
          </MenuItem>
        ))}
        <DropdownMenu.Separator className="my-1 h-px bg-line" />
        <MenuItem onSelect={() => void leave()}>{shell.signOut}</MenuItem>
      </Menu>
    </div>
  );
}
