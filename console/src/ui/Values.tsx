/** Values as people read them: times, money, ids, commands. */

import { Fragment, type ReactNode, useEffect, useRef, useState } from 'react';
import { money } from '@/format/money';
import { ago, exact, local, utc } from '@/format/time';
import { now } from '@/session/clock';
import { common } from '@/strings';
import { classes } from './classes';
import { Icon } from './Icon';

/** A moment in the reader's zone; hovering shows UTC. */
export function Time({ at, as = 'ago' }: { at: string | null | undefined; as?: 'ago' | 'local' | 'exact' }) {
  if (!at) return <span className="text-faint">–</span>;
  return (
    <time dateTime={at} title={`${local(at)} · ${utc(at)}`} className="whitespace-nowrap">
      {as === 'ago' ? ago(at) : as === 'local' ? local(at) : exact(at)}
    </time>
  );
}

export function Money({ micros, currency }: { micros: number; currency: string }) {
  return <span className="numbers whitespace-nowrap">{money(micros, currency)}</span>;
}

/** The server's time, each second, for what grows while it is looked at. */
export function useNow(isRunning = true): number {
  const [at, setAt] = useState(() => now());
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setAt(now()), 1000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return at;
}

export function CopyButton({ text, label = common.copy }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setDone(false), 1500);
  };
  return (
    <button
      type="button"
      onClick={() => void copy()}
      aria-label={done ? common.copied : label}
      title={label}
      className="relative inline-grid size-7 shrink-0 place-items-center rounded-md text-faint hover:bg-hover hover:text-ink"
    >
      <Icon name={done ? 'check' : 'copy'} size={15} />
      <span role="status" className="sr-only">
        {done ? common.copied : ''}
      </span>
    </button>
  );
}

/** A command line to take along. */
export function Command({ children }: { children: string }) {
  return (
    <div className="flex min-w-0 items-center gap-1 rounded-lg border bg-sunken py-0.5 pr-1 pl-3">
      <code tabIndex={0} className="grow overflow-x-auto py-1.5 font-mono text-xs whitespace-nowrap">
        {children}
      </code>
      <CopyButton text={children} />
    </div>
  );
}

/** Several lines to take along, as for a file. */
export function Lines({ children }: { children: string }) {
  return (
    <div className="flex min-w-0 items-start gap-1 rounded-lg border bg-sunken py-0.5 pr-1 pl-3">
      <pre tabIndex={0} className="grow overflow-x-auto py-1.5 font-mono text-xs">
        {children}
      </pre>
      <CopyButton text={children} />
    </div>
  );
}

export function Mono({ children, className }: { children: ReactNode; className?: string }) {
  return <span className={classes('font-mono text-xs', className)}>{children}</span>;
}

/** A name with dots, which a narrow line may break after one of them and nowhere else. */
export function Dotted({ name, className }: { name: string; className?: string }) {
  const parts = name.split(/(?<=[._])/);
  return (
    <Mono className={classes('break-words', className)}>
      {parts.map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </Mono>
  );
}

/** An id: its kind and its end tell it apart; all of it is copied. */
export function Id({ id }: { id: string }) {
  // Who acts is named by kind and id, as in `user:user-…`.
  const named = id.includes('-') ? id.slice(id.indexOf(':') + 1) : id;
  const [kind, ...rest] = named.split('-');
  const short = rest.length > 0 ? `${kind}-…${id.slice(-6)}` : id;
  return (
    <span className="inline-flex items-center gap-0.5 whitespace-nowrap">
      <Mono>
        <span title={id}>{short}</span>
      </Mono>
      <CopyButton text={named} label={`${common.copy} ${kind}`} />
    </span>
  );
}
