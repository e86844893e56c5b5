/** Every state that an allocation can be in, how it gets there, where it is and which way it came. */

import { useQuery } from '@tanstack/react-query';
import { type Allocation, type AllocationState, historyQuery } from '@/api/compute';
import { allocations as text } from '@/strings';
import { classes } from '@/ui/classes';
import { MOVES, movesMade } from './moves';

const WIDTH = 116;
const HEIGHT = 30;

/** Where each state stands: the middle of its box. */
const AT: Readonly<Record<AllocationState, readonly [number, number]>> = {
  requested: [64, 40],
  provisioning: [216, 40],
  active: [368, 40],
  releasing: [560, 40],
  released: [720, 40],
  starting: [264, 128],
  stopped: [368, 196],
  stopping: [472, 128],
  release_failed: [640, 128],
  failed: [720, 196],
};

/** Ways that would run through other boxes go around them. */
const AROUND: Readonly<Record<string, string>> = {
  'requested released': 'M64 25 C 120 -26, 660 -26, 720 25',
  'requested failed': 'M64 55 C 80 262, 560 262, 662 205',
  'provisioning releasing': 'M216 25 C 280 0, 496 0, 560 25',
  'starting releasing': 'M300 113 C 360 82, 440 82, 502 48',
  'starting stopping': 'M322 128 L 414 128',
  'stopped releasing': 'M426 196 C 520 196, 556 120, 560 55',
  'releasing release_failed': 'M572 55 L 612 113',
  'release_failed releasing': 'M632 113 L 596 55',
  'releasing failed': 'M540 55 C 540 160, 600 196, 662 196',
};

function way(from: AllocationState, to: AllocationState): string {
  const [x, y] = AT[from];
  const [u, v] = AT[to];
  const isFlat = Math.abs(v - y) < HEIGHT;
  const sign = isFlat ? Math.sign(u - x) : Math.sign(v - y);
  return isFlat
    ? `M${x + (sign * WIDTH) / 2} ${y} L ${u - (sign * WIDTH) / 2} ${v}`
    : `M${x} ${y + (sign * HEIGHT) / 2} L ${u} ${v - (sign * HEIGHT) / 2}`;
}

export function Diagram({ allocation }: { allocation: Allocation }) {
  const history = useQuery(historyQuery(allocation.organization_id, allocation.id));
  const made = movesMade(history.data?.items ?? []);
  const states = Object.keys(AT) as AllocationState[];
  const moves = states.flatMap((from) => MOVES[from].map((to) => ({ from, to, id: `${from} ${to}` })));
  const wasIn = (state: string) => [...made].some((it) => it.split(' ').includes(state));
  return (
    <details className="mt-4 border-t pt-3">
      <summary className="w-fit cursor-pointer text-sm text-accent-ink">{text.diagram}</summary>
      <div className="mt-3 overflow-x-auto" role="region" aria-label={text.diagram} tabIndex={0}>
        <svg
          viewBox="0 -18 788 270"
          role="img"
          aria-label={text.diagramLabel(text.stage[allocation.state] ?? allocation.state)}
          className="min-w-2xl"
        >
          <defs>
            {['made', 'open'].map((kind) => (
              <marker
                key={kind}
                id={`to-${kind}`}
                viewBox="0 0 8 8"
                refX="7"
                refY="4"
                markerUnits="userSpaceOnUse"
                markerWidth="9"
                markerHeight="9"
                orient="auto"
              >
                <path d="M0 0 L8 4 L0 8 z" className={kind === 'made' ? 'fill-accent' : 'fill-line-strong'} />
              </marker>
            ))}
          </defs>
          {moves.map(({ from, to, id }) => (
            <path
              key={id}
              d={AROUND[id] ?? way(from, to)}
              fill="none"
              strokeWidth={made.has(id) ? 2 : 1}
              markerEnd={`url(#to-${made.has(id) ? 'made' : 'open'})`}
              className={made.has(id) ? 'stroke-accent' : 'stroke-line-strong'}
            />
          ))}
          {states.map((state) => {
            const [x, y] = AT[state];
            const isHere = state === allocation.state;
            return (
              <g key={state}>
                <rect
                  x={x - WIDTH / 2}
                  y={y - HEIGHT / 2}
                  width={WIDTH}
                  height={HEIGHT}
                  rx="8"
                  strokeWidth={isHere ? 2 : 1}
                  className={classes(
                    isHere ? 'fill-accent-soft stroke-accent' : 'fill-surface',
                    !isHere && (wasIn(state) ? 'stroke-accent' : 'stroke-line-strong'),
                  )}
                />
                <text
                  x={x}
                  y={y + 4}
                  textAnchor="middle"
                  className={classes('text-xs', isHere ? 'fill-accent-ink font-semibold' : 'fill-soft')}
                >
                  {text.stage[state]}
                </text>
              </g>
            );
          })}
        </svg>
      </div>
    </details>
  );
}
