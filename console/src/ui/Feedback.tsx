/** What a page says while it waits, when there is nothing, and when it failed. */

import type { ReactNode } from 'react';
import { problemOf, UnreachableError } from '@/api/problem';
import { common } from '@/strings';
import { Button } from './Button';
import { Icon, type IconName } from './Icon';
import { Command, CopyButton } from './Values';

export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div role="status" aria-label={common.loading} className="space-y-3 p-4">
      {Array.from({ length: lines }, (_, line) => (
        <div
          key={line}
          className="h-4 animate-pulse rounded bg-sunken"
          style={{ width: `${90 - line * 14}%` }}
        />
      ))}
    </div>
  );
}

export interface EmptyProps {
  icon: IconName;
  title: string;
  lead: string;
  action?: ReactNode;
  /** The same from a terminal. */
  command?: string;
}

export function Empty({ icon, title, lead, action, command }: EmptyProps) {
  return (
    <div className="mx-auto flex max-w-lg flex-col items-center gap-3 px-4 py-12 text-center">
      <span className="grid size-11 place-items-center rounded-full bg-accent-soft text-accent-ink">
        <Icon name={icon} size={22} />
      </span>
      <div>
        <p className="text-lg font-semibold">{title}</p>
        <p className="mt-1 text-soft">{lead}</p>
      </div>
      {action}
      {command && (
        <div className="mt-2 w-full text-left">
          <p className="mb-1.5 text-center text-sm text-faint">{common.cliHint}</p>
          <Command>{command}</Command>
        </div>
      )}
    </div>
  );
}

/** What is wrong, what to do next, and the id to name when asking for help. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const problem = problemOf(error);
  const isAway = error instanceof UnreachableError;
  const title = isAway ? common.unreachable : (problem?.title ?? common.unexpected);
  const advice = isAway ? common.unreachableAdvice : (problem?.advice ?? common.unexpectedAdvice);
  return (
    <div role="alert" className="flex gap-3 rounded-lg border border-bad/30 bg-bad-soft px-4 py-3 text-left">
      <Icon name="warn" className="mt-0.5 text-bad" />
      <div className="min-w-0 grow space-y-1">
        <p className="font-semibold text-bad">{title}</p>
        {problem && problem.detail !== title && <p className="break-words">{problem.detail}</p>}
        <p className="text-soft">{advice}</p>
        {problem && (
          <p className="flex flex-wrap items-center gap-x-2 text-xs text-soft">
            <span>
              {common.code} <code className="font-mono">{problem.code}</code>
            </span>
            <span className="flex flex-wrap items-center">
              <span className="whitespace-nowrap">{common.correlation}&nbsp;</span>
              <code className="font-mono break-all">{problem.correlation_id}</code>
              <CopyButton text={problem.correlation_id} label={common.copy} />
            </span>
          </p>
        )}
        {onRetry && (
          <Button small onClick={onRetry} className="mt-1">
            {common.retry}
          </Button>
        )}
      </div>
    </div>
  );
}

interface Asked<T> {
  data: T | undefined;
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
}

/** A query's answer, or why there is none. An old answer is shown rather than nothing. */
export function Answer<T>({
  query,
  children,
  lines,
}: {
  query: Asked<T>;
  children: (data: T) => ReactNode;
  lines?: number | undefined;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.isPending) return <Skeleton {...(lines ? { lines } : {})} />;
  return (
    <div className="p-4">
      <Failure error={query.error} onRetry={() => void query.refetch()} />
    </div>
  );
}
