/** The command palette: everything that has an address, by a few letters. */

import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useId, useMemo, useRef, useState } from 'react';
import { currentAllocationsQuery, projectsQuery } from '@/api/compute';
import { organizationsQuery, serviceAccountsQuery, webhooksQuery, whoamiQuery } from '@/api/people';
import { queries } from '@/queries';
import { signOut } from '@/session/session';
import { common, shell } from '@/strings';
import { classes } from '@/ui/classes';
import { Icon, type IconName } from '@/ui/Icon';
import { ACTIONS } from './actions';
import { matches } from './matches';
import { mayDo, useOrganization, useOrganizationId } from './organization';
import { addressOf, mayGo, PLACES } from './pages';
import { setTheme } from './theme';

interface Entry {
  name: string;
  group: string;
  icon: IconName;
  run: () => void;
}

// bound: more is not read; typing narrows
const MOST = 12;

function useEntries(onClose: () => void, onHelp: () => void): Entry[] {
  const router = useRouter();
  const organization = useOrganizationId();
  const me = useQuery(whoamiQuery());
  const organizations = useQuery(organizationsQuery());
  const projects = useQuery({ ...projectsQuery(organization ?? ''), enabled: Boolean(organization) });
  const running = useQuery(currentAllocationsQuery(organization ?? '', projects.data));
  const here = useOrganization();
  const isIn = Boolean(organization);
  const accounts = useQuery({ ...serviceAccountsQuery(organization ?? ''), enabled: isIn });
  const webhooks = useQuery({ ...webhooksQuery(organization ?? ''), enabled: isIn });
  return useMemo(() => {
    const go = (to: string) => () => {
      onClose();
      router.history.push(to);
    };
    const isStaff = Boolean(me.data?.user?.platform_role);
    const places = PLACES.filter(
      (it) => mayGo(it.group, isStaff) && (organization || !it.to.includes('$org')),
    );
    return [
      ...places.map((it) => ({
        name: it.name,
        group: shell.groups[it.group],
        icon: it.icon,
        run: go(addressOf(it, organization)),
      })),
      ...ACTIONS.filter((it) => (it.act ? mayDo(here, it.act) : true)).map((it) => ({
        name: it.name,
        group: shell.act,
        icon: it.icon,
        run: go(it.to.replace('$org', organization ?? '')),
      })),
      ...(running.data ?? []).map((it) => ({
        name: it.name ?? it.id,
        group: shell.pages.allocations,
        icon: 'allocations' as const,
        run: go(`/o/${it.organization_id}/allocations/${it.project_id}/${it.id}`),
      })),
      ...(projects.data ?? []).map((it) => ({
        name: it.name,
        group: shell.pages.projects,
        icon: 'project' as const,
        run: go(`/o/${organization}/allocations?project=${it.id}`),
      })),
      ...(accounts.data ?? []).map((it) => ({
        name: it.name,
        group: shell.pages.serviceAccounts,
        icon: 'robot' as const,
        run: go(`/o/${organization}/service-accounts/${it.id}`),
      })),
      ...(webhooks.data ?? []).map((it) => ({
        name: it.url,
        group: shell.pages.webhooks,
        icon: 'webhook' as const,
        run: go(`/o/${organization}/webhooks/${it.id}`),
      })),
      ...(organizations.data ?? [])
        .filter((it) => it.id !== organization)
        .map((it) => ({
          name: it.name,
          group: shell.switchOrganization,
          icon: 'building' as const,
          run: go(`/o/${it.id}`),
        })),
      ...(['light', 'dark', 'system'] as const).map((it) => ({
        name: shell.themes[it],
        group: shell.theme,
        icon: 'overview' as const,
        run: () => {
          setTheme(it);
          onClose();
        },
      })),
      {
        name: shell.shortcuts,
        group: shell.act,
        icon: 'overview' as const,
        run: () => {
          onClose();
          onHelp();
        },
      },
      {
        name: shell.signOut,
        group: shell.act,
        icon: 'out' as const,
        run: () => {
          onClose();
          void signOut().then(() => queries.clear());
        },
      },
    ];
  }, [
    router,
    organization,
    here,
    me.data,
    organizations.data,
    projects.data,
    running.data,
    accounts.data,
    webhooks.data,
    onClose,
    onHelp,
  ]);
}

export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const entries = useEntries(onClose, onHelp);
  const found = entries.filter((it) => matches(text, `${it.name} ${it.group}`)).slice(0, MOST);
  const chosen = Math.min(at, found.length - 1);

  useEffect(() => {
    const open = dialog.current;
    open?.showModal();
    return () => open?.close();
  }, []);

  return (
    <dialog
      ref={dialog}
      aria-label={shell.palette}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => event.target === dialog.current && onClose()}
      className="mx-auto mt-[12vh] w-[calc(100%-2rem)] max-w-xl overflow-hidden rounded-xl border bg-surface p-0 text-ink shadow-high"
    >
      <div className="flex items-center gap-2.5 border-b px-4">
        <Icon name="search" className="text-faint" />
        <input
          role="combobox"
          aria-label={shell.palette}
          aria-expanded
          aria-controls={`${id}-list`}
          aria-activedescendant={found[chosen] ? `${id}-${chosen}` : undefined}
          autoComplete="off"
          placeholder={shell.search}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') setAt((chosen + 1) % Math.max(found.length, 1));
            else if (event.key === 'ArrowUp') setAt((chosen - 1 + found.length) % Math.max(found.length, 1));
            else if (event.key === 'Enter') found[chosen]?.run();
            else return;
            event.preventDefault();
          }}
          className="h-12 grow bg-transparent text-lg outline-none placeholder:text-faint"
        />
        <kbd className="rounded border px-1.5 text-xs text-faint">Esc</kbd>
      </div>
      <ul
        id={`${id}-list`}
        role="listbox"
        aria-label={shell.palette}
        className="max-h-96 overflow-y-auto p-1.5"
      >
        {found.map((entry, index) => (
          <li
            key={`${entry.group} ${entry.name} ${index}`}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onMouseMove={() => setAt(index)}
            onClick={entry.run}
            className={classes(
              'flex h-10 cursor-pointer items-center gap-3 rounded-lg px-3',
              index === chosen ? 'bg-sunken' : '',
            )}
          >
            <Icon name={entry.icon} className="text-faint" />
            <span className="min-w-0 grow truncate">{entry.name}</span>
            <span className="text-xs text-faint">{entry.group}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && (
        <p className="px-4 pb-6 text-center text-faint">{text ? shell.paletteEmpty : common.loading}</p>
      )}
    </dialog>
  );
}
