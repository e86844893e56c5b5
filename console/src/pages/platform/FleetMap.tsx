/** Thousands of nodes on a canvas for each pool. A list with the same nodes stands below for everybody. */

import { useNavigate } from '@tanstack/react-router';
import { memo, useEffect, useMemo, useRef, useState } from 'react';
import type { Node } from '@/api/platform';
import { words } from '@/format/size';
import { useStore } from '@/session/store';
import { shade } from '@/shell/theme';
import { platform } from '@/strings';
import { draw, type Picture } from './draw';
import { at, groups, layout, stepFor } from './tiles';

const text = platform.fleet;

interface Props {
  nodes: readonly Node[];
  poolName: (id: string) => string;
  regionName: (id: string) => string;
}

export function FleetMap({ nodes, poolName, regionName }: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [pointed, setPointed] = useState<Node>();
  const parts = useMemo(() => groups(nodes), [nodes]);

  useEffect(() => {
    const place = holder.current;
    if (!place) return;
    const watch = new ResizeObserver(() => setWidth(place.clientWidth));
    watch.observe(place);
    return () => watch.disconnect();
  }, []);

  const step = stepFor(nodes.length, Math.max(width, 1));
  return (
    <div>
      <div ref={holder} role="group" aria-label={text.mapLabel(nodes.length)} className="space-y-4">
        {width > 0 &&
          parts.map((part) => (
            <section key={part.pool}>
              <h3 className="mb-1.5 flex flex-wrap items-baseline gap-x-2 text-sm">
                <span className="font-medium">{poolName(part.pool)}</span>
                <span className="text-faint">
                  {regionName(part.region)} · {text.count(part.nodes.length)}
                </span>
              </h3>
              <Tiles
                nodes={part.nodes}
                label={text.poolLabel(poolName(part.pool), part.nodes.length)}
                width={width}
                step={step}
                onPoint={setPointed}
              />
            </section>
          ))}
      </div>
      <Legend pointed={pointed} />
    </div>
  );
}

interface TilesProps {
  nodes: readonly Node[];
  label: string;
  width: number;
  step: number;
  onPoint: (node: Node | undefined) => void;
}

const Tiles = memo(function Tiles({ nodes, label, width, step, onPoint }: TilesProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const shown = useRef<Picture>(undefined);
  const is = useStore(shade);
  const navigate = useNavigate();

  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      if (canvas.current) shown.current = draw(canvas.current, nodes, width, step, is, shown.current);
    });
    return () => cancelAnimationFrame(frame);
  }, [nodes, width, step, is]);

  const find = (event: React.MouseEvent<HTMLCanvasElement>): Node | undefined => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = layout(nodes.length, width, step);
    const index = at(place, event.clientX - box.left, event.clientY - box.top, nodes.length);
    return index === undefined ? undefined : nodes[index];
  };

  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={label}
      className="block w-full cursor-pointer"
      onMouseMove={(event) => onPoint(find(event))}
      onMouseLeave={() => onPoint(undefined)}
      onClick={(event) => {
        const node = find(event);
        if (node) void navigate({ to: '/platform/nodes/$node', params: { node: node.id } });
      }}
    />
  );
});

function Legend({ pointed }: { pointed: Node | undefined }) {
  return (
    <div className="mt-3 flex min-h-6 flex-wrap items-center gap-x-4 gap-y-1 text-sm text-soft">
      {pointed ? (
        <span>
          <strong className="font-medium text-ink">{pointed.name}</strong> · {words(pointed.state)} ·{' '}
          {words(pointed.health)} · {pointed.gpus - pointed.gpus_free}/{pointed.gpus}
        </span>
      ) : (
        (['ready', 'busy', 'warn', 'bad'] as const).map((it) => (
          <span key={it} className="inline-flex items-center gap-1.5">
            <span aria-hidden className={`size-2.5 rounded-sm ${SWATCH[it]}`} />
            {text.legend[it]}
          </span>
        ))
      )}
    </div>
  );
}

const SWATCH = { ready: 'bg-accent', busy: 'bg-busy', warn: 'bg-warn', bad: 'bg-bad' };
