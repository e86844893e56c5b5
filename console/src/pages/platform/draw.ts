/** Tiles on a canvas. Only what changed since the last picture is drawn again. */

import type { Node } from '@/api/platform';
import type { Tone } from '@/ui/Badge';
import { layout, type Layout, slotGrid, toneOfNode } from './tiles';

const COLORS: Record<Tone, string> = {
  ok: '--c-accent',
  busy: '--c-busy',
  warn: '--c-warn',
  bad: '--c-bad',
  idle: '--c-line-strong',
};
/** From this size on the slots of a node are told apart. */
const SLOTS_FROM = 20;

/** What a canvas shows. */
export interface Picture {
  nodes: readonly Node[];
  place: Layout;
  scale: number;
  shade: string;
}

function palette(): Record<Tone, string> {
  const style = getComputedStyle(document.documentElement);
  const color = (tone: Tone) => style.getPropertyValue(COLORS[tone]).trim();
  return {
    ok: color('ok'),
    busy: color('busy'),
    warn: color('warn'),
    bad: color('bad'),
    idle: color('idle'),
  };
}

/** Draws the nodes, and says what is shown now. */
export function draw(
  canvas: HTMLCanvasElement,
  nodes: readonly Node[],
  width: number,
  step: number,
  shade: string,
  before: Picture | undefined,
): Picture {
  const place = layout(nodes.length, width, step);
  const scale = window.devicePixelRatio || 1;
  const now: Picture = { nodes, place, scale, shade };
  const pen = canvas.getContext('2d');
  if (!pen) return now;
  const isSame =
    before?.nodes.length === nodes.length &&
    before.place.step === step &&
    before.place.width === width &&
    before.scale === scale &&
    before.shade === shade;
  if (!isSame) {
    canvas.width = width * scale;
    canvas.height = place.height * scale;
    canvas.style.height = `${place.height}px`;
  }
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  const colors = palette();
  for (let index = 0; index < nodes.length; index += 1) {
    const node = nodes[index];
    if (!node || (isSame && before.nodes[index] === node)) continue;
    const x = (index % place.columns) * step;
    const y = Math.floor(index / place.columns) * step;
    if (isSame) pen.clearRect(x, y, step, step);
    tile(pen, node, x, y, step, colors[toneOfNode(node)]);
  }
  return now;
}

function tile(pen: CanvasRenderingContext2D, node: Node, x: number, y: number, step: number, color: string) {
  const size = step - (step > 16 ? 4 : 2);
  const used = node.gpus - node.gpus_free;
  pen.fillStyle = color;
  if (step >= SLOTS_FROM && node.gpus > 0) {
    const { columns, rows } = slotGrid(node.gpus);
    const [wide, high] = [size / columns, size / rows];
    for (let slot = 0; slot < node.gpus; slot += 1) {
      pen.globalAlpha = slot < used ? 1 : 0.22;
      const left = x + (slot % columns) * wide;
      const top = y + Math.floor(slot / columns) * high;
      pen.fillRect(left, top, wide - 1, high - 1);
    }
  } else {
    pen.globalAlpha = 0.22;
    pen.fillRect(x, y, size, size);
    pen.globalAlpha = 1;
    const full = node.gpus > 0 ? Math.round((size * used) / node.gpus) : 0;
    pen.fillRect(x, y + size - full, size, full);
  }
  pen.globalAlpha = 1;
  if (toneOfNode(node) !== 'ok') {
    pen.strokeStyle = color;
    pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  }
}
