/** Terminals in tabs. Loaded with xterm.js, when the first one is opened. */

import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { problemOf } from '@/api/problem';
import { type Store, useStore } from '@/session/store';
import { access, common } from '@/strings';
import { Button } from '@/ui/Button';
import { classes } from '@/ui/classes';
import { Icon } from '@/ui/Icon';
import { Menu, MenuItem } from '@/ui/Menu';
import type { LinkState } from './link';
import {
  choose,
  close,
  MOST_TABS,
  open,
  type Sitting,
  sittingAt,
  type Tab,
  type TicketFor,
} from './sittings';

const text = access.terminal;

export interface Host {
  node: string;
  name: string;
}

interface Props {
  /** What the tabs belong to. */
  place: string;
  name: string;
  ticket: TicketFor;
  hosts: readonly Host[];
  /** A shell to come back to, besides those that are open. */
  resume?: string | undefined;
  actions?: ReactNode;
  isTall?: boolean;
  canResume?: boolean;
  /** The last of them was closed. */
  onEmpty: () => void;
}

export function Panel({
  place,
  name,
  ticket,
  hosts,
  resume,
  actions,
  isTall,
  canResume = true,
  onEmpty,
}: Props) {
  const label = text.label(name);
  const [sitting] = useState(() => sittingAt(place, ticket, label));
  const { tabs, chosen } = useStore(sitting);
  const current = tabs.find((it) => it.key === chosen) ?? tabs[0];
  const begin = (node?: string, session?: string) =>
    open(place, sitting, ticket, label, { node, session, canResume });

  useEffect(() => {
    if (resume) open(place, sitting, ticket, label, { session: resume, canResume });
    else if (sitting.get().tabs.length === 0) open(place, sitting, ticket, label, { canResume });
    // Once, when it is shown, and when another shell is asked for.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [resume]);

  // What cannot be come back to ends with the page that shows it.
  useEffect(() => {
    if (canResume) return;
    return () => sitting.get().tabs.forEach((tab) => close(place, sitting, tab));
  }, [canResume, place, sitting]);

  const hadSome = useRef(false);
  useEffect(() => {
    if (tabs.length > 0) hadSome.current = true;
    else if (hadSome.current) onEmpty();
  }, [tabs.length, onEmpty]);

  return (
    <div data-terminal className={classes('flex min-h-0 flex-col', isTall ? 'h-full' : 'h-[28rem]')}>
      <div className="flex items-center gap-2 border-b px-2 py-1.5">
        <Tabs sitting={sitting} hosts={hosts} place={place} current={current} />
        <NewTab hosts={hosts} isFull={tabs.length >= MOST_TABS} onBegin={begin} canMore={canResume} />
        <span className="grow" />
        {current && <ReadAloud tab={current} key={current.key} />}
        {actions}
      </div>
      <div className="relative min-h-0 grow">
        {tabs.map((tab) => (
          <Shown key={tab.key} tab={tab} isChosen={tab === current} />
        ))}
        {!current && <p className="p-4 text-faint">{text.loading}</p>}
      </div>
      {current && (
        <StatusBar
          key={current.key}
          tab={current}
          canResume={canResume}
          onClose={() => close(place, sitting, current)}
        />
      )}
    </div>
  );
}

function nameOf(tab: Tab, index: number, hosts: readonly Host[]): string {
  const host = hosts.length > 1 && hosts.find((it) => it.node === (tab.node ?? hosts[0]?.node));
  return host ? text.tabOn(index + 1, host.name) : text.tab(index + 1);
}

interface TabsProps {
  sitting: Store<Sitting>;
  hosts: readonly Host[];
  place: string;
  current: Tab | undefined;
}

function Tabs({ sitting, hosts, place, current }: TabsProps) {
  const { tabs } = useStore(sitting);
  const row = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const at = tabs.findIndex((it) => it === current);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (event.key === 'Delete' && current) close(place, sitting, current);
    else if (event.key === 'Enter' || event.key === ' ' || event.key === 'ArrowDown') {
      current?.screen.terminal.focus();
    } else if (step !== 0 && next) {
      choose(sitting, next.key);
      row.current?.querySelector<HTMLElement>(`[data-tab="${next.key}"]`)?.focus();
    } else return;
    event.preventDefault();
  };
  return (
    <div className="flex min-w-0 items-center gap-1 overflow-x-auto">
      <div ref={row} role="tablist" aria-label={text.tabs} className="flex gap-1">
        {tabs.map((tab, index) => (
          <button
            key={tab.key}
            type="button"
            role="tab"
            id={`tab-${tab.key}`}
            data-tab={tab.key}
            aria-selected={tab === current}
            aria-controls={`shell-${tab.key}`}
            tabIndex={tab === current ? 0 : -1}
            onKeyDown={move}
            onClick={() => {
              choose(sitting, tab.key);
              tab.screen.terminal.focus();
            }}
            className={classes(
              'flex h-7 items-center gap-2 rounded-md px-2.5 text-sm whitespace-nowrap',
              tab === current ? 'bg-sunken font-medium' : 'text-soft hover:bg-hover',
            )}
          >
            <Dot tab={tab} />
            {nameOf(tab, index, hosts)}
          </button>
        ))}
      </div>
      {current && (
        <button
          type="button"
          aria-label={text.closeTab(nameOf(current, tabs.indexOf(current), hosts))}
          title={text.closeTab(nameOf(current, tabs.indexOf(current), hosts))}
          onClick={() => close(place, sitting, current)}
          className="grid size-7 shrink-0 place-items-center rounded-md text-faint hover:bg-hover hover:text-ink"
        >
          <Icon name="close" size={14} />
        </button>
      )}
    </div>
  );
}

function Dot({ tab }: { tab: Tab }) {
  const { at } = useStore(tab.link.state);
  const tone = at === 'open' ? 'bg-ok' : at === 'over' ? 'bg-line-strong' : 'animate-pulse bg-warn';
  return <span aria-hidden className={classes('size-1.5 rounded-full', tone)} />;
}

interface NewTabProps {
  hosts: readonly Host[];
  isFull: boolean;
  canMore: boolean;
  onBegin: (node?: string) => void;
}

function NewTab({ hosts, isFull, canMore, onBegin }: NewTabProps) {
  if (!canMore) return null;
  const look = (
    <Button
      small
      kind="quiet"
      aria-label={text.newTab}
      title={isFull ? text.most(MOST_TABS) : text.newTab}
      disabled={isFull}
      onClick={hosts.length > 1 ? undefined : () => onBegin()}
    >
      <Icon name="plus" size={15} />
    </Button>
  );
  if (hosts.length <= 1) return look;
  return (
    <Menu label={text.newTab} trigger={look}>
      {hosts.map((host) => (
        <MenuItem key={host.node} onSelect={() => onBegin(host.node)}>
          {text.onHost(host.name)}
        </MenuItem>
      ))}
    </Menu>
  );
}

function ReadAloud({ tab }: { tab: Tab }) {
  const [isOn, setOn] = useState(Boolean(tab.screen.terminal.options.screenReaderMode));
  return (
    <Button
      small
      kind="quiet"
      aria-pressed={isOn}
      aria-label={text.screenReader}
      title={text.screenReader}
      className={isOn ? 'bg-accent-soft !text-accent-ink' : 'max-sm:hidden'}
      onClick={() => {
        tab.screen.readAloud(!isOn);
        setOn(!isOn);
      }}
    >
      <Icon name="ear" size={15} />
    </Button>
  );
}

/** All of them have a place, so that each fits it; one is seen. */
function Shown({ tab, isChosen }: { tab: Tab; isChosen: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { screen, link } = tab;
    place.current?.append(screen.element);
    screen.fit();
    link.start();
    const watch = new ResizeObserver(() => screen.fit());
    if (place.current) watch.observe(place.current);
    return () => {
      watch.disconnect();
      screen.element.remove();
    };
  }, [tab]);
  useEffect(() => {
    if (isChosen) tab.screen.terminal.focus();
  }, [tab, isChosen]);
  return (
    <div
      role="tabpanel"
      id={`shell-${tab.key}`}
      aria-labelledby={`tab-${tab.key}`}
      className={classes('terminal-place absolute inset-0 p-2', !isChosen && 'invisible')}
    >
      <div ref={place} className="size-full overflow-hidden" />
    </div>
  );
}

function wordsFor(state: LinkState): string {
  if (state.at !== 'over') return text.state[state.at];
  if (state.end === 'exit') return text.exitCode(state.code ?? 0);
  const problem = problemOf(state.error);
  const words = text.end[state.end] ?? text.state.over;
  return problem ? `${words} ${sentence(problem.detail)} ${problem.advice}` : words;
}

function sentence(words: string): string {
  const whole = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

interface StatusBarProps {
  tab: Tab;
  canResume: boolean;
  onClose: () => void;
}

/** The status of the shell, announced when it changes, and what to do once it is over. */
function StatusBar({ tab, canResume, onClose }: StatusBarProps) {
  const state = useStore(tab.link.state);
  const isOver = state.at === 'over';
  const isInterrupted = isOver || state.at === 'away';
  const act = (work: () => unknown) => () => {
    work();
    tab.screen.terminal.focus();
  };
  const isElsewhere = isOver && state.end === 'taken_over';
  const mayReturn = isOver && ['too_many', 'lost', 'problem', 'gone', 'refused'].includes(state.end);
  return (
    <div
      className={classes(
        'flex min-h-9 flex-wrap items-center gap-x-3 gap-y-1.5 border-t px-3 py-1.5 text-sm',
        isInterrupted ? 'bg-warn-soft text-warn' : 'text-faint',
      )}
    >
      <span role="status" className={classes('min-w-0 break-words', isInterrupted && 'grow')}>
        {wordsFor(state)}
        {isOver && state.words && ['refused', 'gone'].includes(state.end) && (
          <span className="opacity-80"> {sentence(state.words)}</span>
        )}
      </span>
      {!isInterrupted && (
        <>
          <span className="ml-auto max-md:hidden">{text.keys}</span>
          <span className="ml-auto md:hidden">{text.keysPhone}</span>
        </>
      )}
      {isOver && canResume && (
        <span className="flex gap-2">
          {isElsewhere && (
            <Button small onClick={act(() => tab.link.resume())}>
              {text.takeOver}
            </Button>
          )}
          {mayReturn && (
            <Button small onClick={act(() => tab.link.resume())}>
              {text.tryAgain}
            </Button>
          )}
          {state.end === 'blocked' || state.end === 'not_understood' ? (
            <Button small onClick={() => location.reload()}>
              {text.reload}
            </Button>
          ) : (
            <Button
              small
              onClick={act(() => {
                tab.screen.terminal.reset();
                return tab.link.renew();
              })}
            >
              {text.again}
            </Button>
          )}
          <Button small kind="quiet" onClick={onClose}>
            {common.close}
          </Button>
        </span>
      )}
    </div>
  );
}
