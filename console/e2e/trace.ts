/** What the main thread of a page did, task by task, as the browser itself records it. */

import type { Page } from 'playwright-core';

export interface Task {
  /** Time by the clock, in which other programs may have had the processor. */
  wall: number;
  /** Time of the processor. */
  cpu: number;
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  dur?: number;
  tdur?: number;
  args?: { name?: string };
}

export async function record(page: Page, work: () => Promise<unknown>): Promise<Task[]> {
  const session = await page.context().newCDPSession(page);
  const found: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) => found.push(...(value as unknown as TraceEvent[])));
  const ended = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['toplevel', 'disabled-by-default-devtools.timeline', '__metadata'] },
  });
  // However the work ends, the browser must be able to record again.
  await work().finally(() => session.send('Tracing.end'));
  await ended;
  await session.detach();
  const threads = found.filter((it) => it.name === 'thread_name' && it.args?.name === 'CrRendererMain');
  const isMain = (it: TraceEvent) => threads.some((thread) => thread.pid === it.pid && thread.tid === it.tid);
  return found
    .filter((it) => it.ph === 'X' && /RunTask$/.test(it.name) && isMain(it))
    .map((it) => ({ wall: (it.dur ?? 0) / 1000, cpu: (it.tdur ?? it.dur ?? 0) / 1000 }));
}

export function longest(tasks: readonly Task[]): Task {
  if (tasks.length === 0) throw new Error('the browser recorded no task of the main thread');
  return {
    wall: Math.max(...tasks.map((it) => it.wall)),
    cpu: Math.max(...tasks.map((it) => it.cpu)),
  };
}
