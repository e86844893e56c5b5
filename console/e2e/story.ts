/**
 * The tests of a file tell one story, in order: what comes after a failure says
 * nothing, and is left out. What the pages and servers of the story showed then is
 * written beside the failure, as nobody can look at them later.
 */

import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { opened } from './browser';
import { started } from './server';

const PICTURES = join(import.meta.dirname, '..', 'screenshots', 'failed');
// bound: what is written of a page or a server
const MOST_LETTERS = 3_000;

let failed: string | undefined;

beforeEach((it) => {
  if (failed) it.skip(`“${failed}” failed before`);
});

afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail' || failed) return;
  failed = task.name;
  mkdirSync(PICTURES, { recursive: true });
  const said = [`what was there when “${task.name}” failed:`];
  const pages = opened.flatMap((it) => it.pages());
  for (const [index, page] of pages.entries()) {
    const path = join(PICTURES, `${basename(task.file.name, '.spec.ts')}-${index + 1}.png`);
    const words = await page.innerText('body', { timeout: 2_000 }).catch((error: unknown) => String(error));
    const isTaken = await page.screenshot({ path, timeout: 5_000 }).catch(() => undefined);
    said.push(`-- page ${page.url()}${isTaken ? `, in ${path}` : ''}`, words.slice(0, MOST_LETTERS));
  }
  for (const server of started) {
    said.push(`-- gpuaasd at ${server.base}`, server.warnings().slice(-MOST_LETTERS));
  }
  console.error(said.join('\n'));
});
