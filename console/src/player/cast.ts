/** A recording as lines of asciicast, version 2, and the time that playing it takes. */

export interface CastEvent {
  /** Seconds since it began. */
  at: number;
  kind: 'output' | 'size' | 'marker';
  data: string;
}

export interface Cast {
  columns: number;
  rows: number;
  events: readonly CastEvent[];
  lengthS: number;
}

const KINDS: Readonly<Record<string, CastEvent['kind']>> = { o: 'output', r: 'size', m: 'marker' };
// bound: as large as a terminal of the platform can be
const MOST_COLUMNS = 1000;
const MOST_ROWS = 500;

/** Throws when it is no recording. What was typed is in it too, and not played. */
export function parse(text: string): Cast {
  const lines = text.split('\n');
  const header = JSON.parse(lines[0] ?? '') as { version?: number; width?: number; height?: number };
  if (header.version !== 2) throw new Error('not an asciicast of the second version');
  const events: CastEvent[] = [];
  for (const line of lines.slice(1)) {
    if (!line.trim()) continue;
    const [at, code, data] = JSON.parse(line) as [number, string, string];
    const kind = KINDS[code];
    if (kind && Number.isFinite(at) && typeof data === 'string') events.push({ at, kind, data });
  }
  return {
    columns: within(header.width, 80, MOST_COLUMNS),
    rows: within(header.height, 24, MOST_ROWS),
    events,
    lengthS: events.at(-1)?.at ?? 0,
  };
}

function within(value: number | undefined, usual: number, most: number): number {
  return Number.isInteger(value) && value !== undefined && value > 0 ? Math.min(value, most) : usual;
}

/** `90x30` as numbers. */
export function sizeOf(data: string): [number, number] | undefined {
  const [, columns, rows] = /^(\d{1,4})x(\d{1,4})$/.exec(data) ?? [];
  if (!columns || !rows) return undefined;
  return [within(Number(columns), 80, MOST_COLUMNS), within(Number(rows), 24, MOST_ROWS)];
}

/** When each event is played, where no pause is longer than `mostIdleS`. */
export function schedule(events: readonly CastEvent[], mostIdleS: number): number[] {
  const times: number[] = [];
  let before = 0;
  let at = 0;
  for (const event of events) {
    at += Math.min(Math.max(0, event.at - before), mostIdleS);
    before = event.at;
    times.push(at);
  }
  return times;
}

/** How many events are played by then. */
export function reached(times: readonly number[], at: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** `75` as `1:15`; with tenths where all of it takes seconds. */
export function clock(seconds: number, total = Infinity): string {
  if (total < 20) return `${(Math.floor(Math.max(0, seconds) * 10) / 10).toFixed(1)} s`;
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const tail = String(rest).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${tail}` : `${minutes}:${tail}`;
}
