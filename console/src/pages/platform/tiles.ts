/** The fleet as tiles: where each node is drawn, in what color, and which one is pointed at. */

import type { Node } from '@/api/platform';
import { toneOf, type Tone } from '@/ui/Badge';

export interface Layout {
  columns: number;
  rows: number;
  /** One tile with its gap. */
  step: number;
  width: number;
  height: number;
}

const SIZES = [40, 30, 24, 20, 16, 13, 11, 9];
const TALLEST = 420;

export function layout(count: number, width: number, step: number): Layout {
  const columns = Math.max(1, Math.floor(width / step));
  const rows = Math.ceil(count / columns);
  return { columns, rows, step, width, height: rows * step };
}

/** The largest tiles with which the whole fleet stays in sight. */
export function stepFor(count: number, width: number): number {
  return SIZES.find((step) => layout(count, width, step).height <= TALLEST) ?? 9;
}

export interface Group {
  pool: string;
  region: string;
  nodes: Node[];
}

/** Nodes that stand by pool, parted where one pool ends. */
export function groups(nodes: readonly Node[]): Group[] {
  const found: Group[] = [];
  for (const node of nodes) {
    const last = found.at(-1);
    if (last?.pool === node.pool_id) last.nodes.push(node);
    else found.push({ pool: node.pool_id, region: node.region_id, nodes: [node] });
  }
  return found;
}

export interface Sums {
  gpus: number;
  free: number;
  bad: number;
}

export function sums(nodes: readonly Node[]): Sums {
  const all = { gpus: 0, free: 0, bad: 0 };
  for (const node of nodes) {
    all.gpus += node.gpus;
    all.free += node.gpus_free;
    if (toneOfNode(node) === 'bad') all.bad += 1;
  }
  return all;
}

/** How a tile is parted into slots: as square as it goes. */
export function slotGrid(gpus: number): { columns: number; rows: number } {
  const columns = Math.ceil(Math.sqrt(gpus));
  return { columns, rows: Math.ceil(gpus / Math.max(columns, 1)) };
}

export function at(place: Layout, x: number, y: number, count: number): number | undefined {
  const column = Math.floor(x / place.step);
  const row = Math.floor(y / place.step);
  if (x < 0 || y < 0 || column >= place.columns) return undefined;
  const index = row * place.columns + column;
  return index < count ? index : undefined;
}

/** Bad news first: what was observed outweighs what was decided. */
export function toneOfNode(node: Node): Tone {
  if (node.state === 'retired') return 'idle';
  const health = toneOf(node.health);
  if (health === 'bad' || node.state === 'failed') return 'bad';
  const state = toneOf(node.state);
  if (state !== 'ok') return state;
  return health === 'warn' ? 'warn' : 'ok';
}

/** How much of a node is taken, from 0 to 1. */
export function taken(node: Node): number {
  return node.gpus > 0 ? (node.gpus - node.gpus_free) / node.gpus : 0;
}
