/** The frame: navigation, what is live, and what interrupts. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouter, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { organizationsQuery, unreadQuery, whoamiQuery } from '@/api/people';
import { follow, liveness } from '@/live/events';
import { reach } from '@/session/reach';
import { standing } from '@/session/session';
import { useStore } from '@/session/store';
import { common, shell } from '@/strings';
import { Button, buttonLook } from '@/ui/Button';
import { Failure, Skeleton } from '@/ui/Feedback';
import { Icon } from '@/ui/Icon';
import { Navigation } from './Navigation';
import { useOrganization, useOrganizationId } from './organization';
import { Palette } from './Palette';
import { remember } from './remember';
import { SessionEnded } from './SessionEnded';
import { Shortcuts } from './Shortcuts';
import { StepUp } from './StepUp';
import { useShortcuts } from './shortcuts';

export function Shell() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const me = useQuery(whoamiQuery());
  const organizations = useQuery(organizationsQuery());
  const id = useOrganizationId();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const isPlatform = path.startsWith('/platform/') && Boolean(me.data?.user?.platform_role);
  const is = useStore(standing);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const router = useRouter();

  useEffect(() => {
    if (id) remember('organization', id);
  }, [id]);

  // Who is in no organization is still told of what concerns them.
  const isAlone = organizations.data?.length === 0;
  useEffect(() => {
    if (isPlatform) return follow('platform', queries);
    if (id) return follow({ organization: id }, queries);
    return isAlone ? follow('me', queries) : undefined;
  }, [id, isPlatform, isAlone, queries]);

  const [seenPath, setSeenPath] = useState(path);
  if (path !== seenPath) {
    setSeenPath(path);
    setMenuOpen(false);
  }

  useShortcuts({
    onGo: (to) => {
      if (id || !to.includes('$org')) router.history.push(to.replace('$org', id ?? ''));
    },
    onPalette: () => setPaletteOpen((open) => !open),
    onHelp: () => setHelpOpen(true),
  });

  useEffect(() => {
    if (is === 'out') void navigate({ to: '/sign-in' });
  }, [is, navigate]);

  // Whoever is not known yet may be staff, who need none.
  const hasNone = me.data !== undefined && organizations.data?.length === 0 && !me.data.user?.platform_role;
  useEffect(() => {
    if (hasNone && path !== '/welcome') void navigate({ to: '/welcome' });
  }, [hasNone, path, navigate]);

  const failed = me.error ?? organizations.error;
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[15rem_1fr]">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded-lg focus:bg-surface focus:px-3 focus:py-2"
      >
        {shell.skip}
      </a>
      <header className="sticky top-0 z-20 flex items-center gap-2 border-b bg-surface px-3 py-2 md:hidden">
        <Button
          kind="quiet"
          small
          aria-label={shell.menu}
          aria-expanded={isMenuOpen}
          onClick={() => setMenuOpen(true)}
        >
          <Icon name="menu" />
        </Button>
        <span className="grow font-semibold">{common.product}</span>
        <Bell />
        <Button kind="quiet" small aria-label={shell.palette} onClick={() => setPaletteOpen(true)}>
          <Icon name="search" />
        </Button>
      </header>
      <aside className="sticky top-0 hidden h-dvh border-r bg-surface md:block">
        <Navigation onSearch={() => setPaletteOpen(true)} />
      </aside>
      {isMenuOpen && <Drawer onClose={() => setMenuOpen(false)} onSearch={() => setPaletteOpen(true)} />}
      <main id="main" tabIndex={-1} className="min-w-0 outline-none">
        <Banners />
        {failed && !me.data ? (
          <div className="mx-auto max-w-2xl p-6">
            <Failure
              error={failed}
              onRetry={() => {
                void me.refetch();
                void organizations.refetch();
              }}
            />
          </div>
        ) : organizations.isPending || me.isPending ? (
          <Skeleton lines={5} />
        ) : (
          <Outlet />
        )}
      </main>
      {isPaletteOpen && <Palette onClose={() => setPaletteOpen(false)} onHelp={() => setHelpOpen(true)} />}
      {isHelpOpen && <Shortcuts onClose={() => setHelpOpen(false)} />}
      {is === 'ended' && <SessionEnded />}
      <StepUp />
    </div>
  );
}

/** On a phone the navigation is out of sight; what was told is not. */
function Bell() {
  const unread = useQuery(unreadQuery()).data?.unread ?? 0;
  return (
    <Link
      to="/account/notifications"
      aria-label={
        unread ? `${shell.pages.notifications}, ${shell.unread(unread)}` : shell.pages.notifications
      }
      className={`${buttonLook('quiet', true)} relative`}
    >
      <Icon name="bell" />
      {unread > 0 && (
        <span
          aria-hidden
          className="numbers absolute -top-0.5 right-0 rounded-full bg-accent px-1 text-[0.625rem] font-semibold text-on-accent"
        >
          {unread}
        </span>
      )}
    </Link>
  );
}

function Drawer({ onClose, onSearch }: { onClose: () => void; onSearch: () => void }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-label={shell.menu}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => event.target === ref.current && onClose()}
      className="m-0 h-dvh max-h-none w-72 border-r bg-surface p-0 text-ink"
    >
      <button
        type="button"
        aria-label={shell.closeMenu}
        onClick={onClose}
        className="absolute top-3 right-3 grid size-8 place-items-center rounded-md text-faint hover:bg-hover"
      >
        <Icon name="close" />
      </button>
      <Navigation
        onSearch={() => {
          onClose();
          onSearch();
        }}
      />
    </dialog>
  );
}

function Banners() {
  const queries = useQueryClient();
  const at = useStore(reach);
  const organization = useOrganization();
  // A live connection is the first to find the server again; what failed before is asked once more.
  useEffect(
    () =>
      liveness.subscribe(() => {
        const isBack = liveness.get() === 'live' && reach.get() === 'away';
        if (isBack) void queries.refetchQueries({ type: 'active' });
      }),
    [queries],
  );
  return (
    <>
      {at === 'away' && (
        <div
          role="alert"
          className="flex flex-wrap items-center gap-3 border-b bg-warn-soft px-4 py-2 text-warn md:px-8"
        >
          <Icon name="warn" />
          <span className="grow">{shell.unreachable}</span>
          <Button small onClick={() => void queries.refetchQueries({ type: 'active' })}>
            {common.retry}
          </Button>
        </div>
      )}
      {organization?.state === 'suspended' && (
        <div className="flex items-center gap-3 border-b bg-warn-soft px-4 py-2 text-warn md:px-8">
          <Icon name="warn" />
          {shell.suspended}
        </div>
      )}
    </>
  );
}
