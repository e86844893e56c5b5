import type { ReactNode } from 'react';
import { classes } from './classes';

interface Props {
  title?: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  /** Tables and charts go to the edge. */
  flush?: boolean;
  className?: string;
}

export function Card({ title, lead, actions, children, flush, className }: Props) {
  return (
    <section className={classes('min-w-0 rounded-xl border bg-surface shadow-low', className)}>
      {(title || actions) && (
        <header className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b px-4 py-3">
          <div className="min-w-0 grow">
            {title && <h2 className="text-base font-semibold">{title}</h2>}
            {lead && <p className="text-sm text-faint">{lead}</p>}
          </div>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
      )}
      <div className={flush ? '' : 'p-4'}>{children}</div>
    </section>
  );
}

/** A number that matters, with what it means. */
export function Stat({ label, value, detail }: { label: string; value: ReactNode; detail?: ReactNode }) {
  return (
    <div className="min-w-0 rounded-xl border bg-surface px-3.5 py-3 shadow-low sm:px-4 sm:py-3.5">
      <dt className="text-sm text-faint">{label}</dt>
      <dd className="mt-1">
        <span className="numbers block text-lg font-semibold tracking-tight break-words sm:text-2xl">
          {value}
        </span>
        {detail && <span className="mt-0.5 block text-sm text-faint">{detail}</span>}
      </dd>
    </div>
  );
}

export function Stats({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-2 gap-2.5 sm:gap-3 lg:grid-cols-4">{children}</dl>;
}

/** Names and values of one thing. */
export function Facts({
  items,
}: {
  items: readonly (readonly [string, ReactNode] | false | null | undefined)[];
}) {
  return (
    <dl className="grid gap-x-6 gap-y-2.5 sm:grid-cols-[minmax(8rem,auto)_1fr]">
      {items.map(
        (item) =>
          item && (
            <div key={item[0]} className="contents">
              <dt className="text-sm text-faint sm:py-px">{item[0]}</dt>
              <dd className="-mt-2 min-w-0 break-words sm:mt-0">{item[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
