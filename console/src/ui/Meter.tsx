import type { ReactNode } from 'react';
import { classes } from './classes';

/** How much of something is taken. */
export function Meter({ value, most, label }: { value: number; most: number; label: ReactNode }) {
  const share = most > 0 ? Math.min(1, value / most) : 0;
  const tone = share >= 1 ? 'bg-bad' : share >= 0.8 ? 'bg-warn' : 'bg-accent';
  return (
    <span className="flex flex-wrap items-center gap-x-2.5 gap-y-1 md:min-w-36">
      <span aria-hidden className="h-1.5 min-w-16 grow overflow-hidden rounded-full bg-sunken">
        <span className={classes('block h-full rounded-full', tone)} style={{ width: `${share * 100}%` }} />
      </span>
      <span className="numbers text-sm whitespace-nowrap text-soft">{label}</span>
    </span>
  );
}
