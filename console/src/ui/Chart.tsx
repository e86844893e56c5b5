/** Lines and bars over time, drawn by uPlot in the theme's colors. */

import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { shade } from '@/shell/theme';
import { useStore } from '@/session/store';
import { common as text } from '@/strings';

export interface Series {
  name: string;
  values: (number | null)[];
}

interface Props {
  label: string;
  /** Seconds since 1970. */
  times: number[];
  series: Series[];
  kind?: 'line' | 'bars';
  height?: number;
  format?: (value: number) => string;
  /** From when to when, in seconds, however much was measured in it. */
  span?: readonly [number, number];
  /** Whether each point is a day of UTC, and not a moment. */
  isDaily?: boolean;
  /** The top of the scale when it is known, as with percent. */
  most?: number;
}

/** Told apart by lightness as well as hue. */
const COLORS = {
  light: ['#0f766e', '#b45309', '#1d5fbf', '#9333ea', '#be123c', '#4d7c0f', '#0e7490', '#57534e'],
  dark: ['#2dd4bf', '#fbbf24', '#7fb2ff', '#d8b4fe', '#fb7185', '#bef264', '#67e8f9', '#d6d3d1'],
};

/** Between lines: nothing that a cent or a watt would have to be cut for. */
const STEPS = Array.from({ length: 18 }, (_, at) => [1, 2, 5].map((it) => it * 10 ** (at - 6))).flat();

const DAY_S = 86_400;

function dayOf(at: number, timeZone?: string): string {
  return new Date(at * 1000).toLocaleDateString(undefined, { month: 'short', day: 'numeric', timeZone });
}

function timeOf(at: number, timeStyle: 'short' | 'medium' = 'short'): string {
  return new Date(at * 1000).toLocaleTimeString(undefined, { timeStyle });
}

function momentOf(at: number): string {
  return `${dayOf(at)}, ${timeOf(at, 'medium')}`;
}

/** Days are named, and nothing between them. */
const DAILY: uPlot.Axis = {
  incrs: [1, 2, 3, 7, 14, 30].map((days) => days * DAY_S),
  values: (_, splits) => splits.map((at) => dayOf(at, 'UTC')),
};
/** Moments as the reader's clock shows them; days where they are further apart. */
const MOMENTS: uPlot.Axis = {
  space: 72,
  values: (_, splits, __, ___, step) =>
    splits.map((at) => (step >= DAY_S ? dayOf(at) : timeOf(at, step < 60 ? 'medium' : 'short'))),
};

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function options(props: Props, is: 'light' | 'dark', width: number): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: color('--c-faint'),
    grid: { stroke: color('--c-line'), width: 1 },
    ticks: { show: false },
    font: '11px "Inter Variable", sans-serif',
  };
  const show = props.format ?? ((value: number) => String(value));
  const palette = COLORS[is];
  return {
    width,
    height: props.height ?? 180,
    legend: { show: props.series.length > 1 },
    cursor: { y: false, points: { size: 6 } },
    padding: [10, 8, 0, 0],
    ...(props.isDaily ? { tzDate: (at: number) => uPlot.tzDate(new Date(at * 1000), 'UTC') } : {}),
    scales: {
      ...(props.span ? { x: { range: () => [...(props.span ?? [0, 1])] as [number, number] } } : {}),
      y: { range: (_, __, max) => [0, props.most ?? (max > 0 ? max * 1.1 : 1)] },
    },
    axes: [
      { ...axis, size: 30, grid: { show: false }, ...(props.isDaily ? DAILY : MOMENTS) },
      { ...axis, size: 64, incrs: STEPS, values: (_, splits) => splits.map((it) => show(it)) },
    ],
    series: [
      {
        label: text.time,
        value: (_, at: number | null) =>
          at === null ? '–' : props.isDaily ? dayOf(at, 'UTC') : momentOf(at),
      },
      ...props.series.map((it, index) => {
        const stroke = palette[index % palette.length] ?? '#888';
        return {
          label: it.name,
          stroke,
          width: props.kind === 'bars' ? 0 : 1.75,
          fill: props.kind === 'bars' ? stroke : props.series.length === 1 ? `${stroke}18` : undefined,
          ...(props.kind === 'bars' && uPlot.paths.bars
            ? { paths: uPlot.paths.bars({ size: [0.7, 48], radius: 0.15 }) }
            : {}),
          points: { show: props.kind !== 'bars' && it.values.length < 3 },
          value: (_: uPlot, value: number | null) => (value === null ? '–' : show(value)),
        };
      }),
    ],
  };
}

export function Chart(props: Props) {
  const holder = useRef<HTMLDivElement>(null);
  const is = useStore(shade);
  useEffect(() => {
    const place = holder.current;
    if (!place) return;
    const data: uPlot.AlignedData = [props.times, ...props.series.map((it) => it.values)];
    const plot = new uPlot(options(props, is, Math.max(place.clientWidth, 200)), data, place);
    const watch = new ResizeObserver(() => {
      plot.setSize({ width: Math.max(place.clientWidth, 200), height: props.height ?? 180 });
    });
    watch.observe(place);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [props, is]);
  return <div ref={holder} role="img" aria-label={props.label} className="w-full" />;
}
