import type { Allocation } from '@/api/compute';
import { allocations as text } from '@/strings';
import { toneOf } from '@/ui/Badge';
import { classes } from '@/ui/classes';
import { Icon } from '@/ui/Icon';
import { Time } from '@/ui/Values';

/** The way that most take. Others leave it where they are shown. */
const WAY = ['requested', 'provisioning', 'active', 'releasing', 'released'];

/** Where beside the way a state belongs. */
const BESIDE: Readonly<Record<string, string>> = {
  stopping: 'active',
  stopped: 'active',
  starting: 'active',
  failed: 'released',
  release_failed: 'releasing',
};

export function Stages({ allocation }: { allocation: Allocation }) {
  const state = allocation.state;
  const at = WAY.indexOf(BESIDE[state] ?? state);
  const tone = toneOf(state);
  return (
    <div>
      <ol className="grid gap-2 sm:grid-cols-5">
        {WAY.map((step, index) => {
          const isHere = index === at;
          const isPast = index < at || (isHere && state === 'released');
          const name = isHere ? (text.stage[state] ?? state) : (text.stage[step] ?? step);
          return (
            <li
              key={step}
              aria-current={isHere ? 'step' : undefined}
              className="flex items-center gap-2.5 sm:flex-col sm:items-start sm:gap-1.5"
            >
              <span
                className={classes(
                  'h-1 rounded-full max-sm:hidden sm:w-full',
                  isHere ? (tone === 'bad' ? 'bg-bad' : 'bg-accent') : isPast ? 'bg-accent/40' : 'bg-line',
                  isHere && tone === 'busy' && 'animate-pulse',
                )}
              />
              <span
                className={classes(
                  'flex items-center gap-1.5 text-sm',
                  isHere
                    ? tone === 'bad'
                      ? 'font-semibold text-bad'
                      : 'font-semibold'
                    : isPast
                      ? 'text-soft'
                      : 'text-faint',
                )}
              >
                {isPast && <Icon name="check" size={14} className="text-accent-ink" />}
                {name}
              </span>
            </li>
          );
        })}
      </ol>
      <p role="status" className="mt-3 text-soft">
        {text.stageLead[state] ?? ''}{' '}
        <span className="text-faint">
          <Time at={allocation.state_since} />
        </span>
      </p>
    </div>
  );
}
