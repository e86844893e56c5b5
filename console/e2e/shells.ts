/** Shells in a page, as a person uses them. */

import type { Browser, Locator, Page } from 'playwright-core';
import { open, signIn } from './browser';
import type { Server } from './server';

/** What the terminal that is seen shows. */
export function screen(page: Page): Locator {
  return page.locator('[role=tabpanel]:not(.invisible) .xterm-rows');
}

/** Waits until the shell that is seen is there; a table beside it may say so of others. */
export function connected(page: Page): Promise<void> {
  return page
    .locator('[data-terminal] [role=status]')
    .filter({ hasText: /^Connected$/ })
    .waitFor();
}

export async function typeLine(page: Page, words: string): Promise<void> {
  await connected(page);
  await page.locator('[role=tabpanel]:not(.invisible) .xterm-helper-textarea').focus();
  await page.keyboard.type(words);
  await page.keyboard.press('Enter');
}

/** Waits for a line that begins so: what was typed stands behind a prompt. */
export async function showsLine(page: Page, line: string): Promise<void> {
  await screen(page)
    .locator('> div')
    .filter({ hasText: new RegExp(`^${line}`) })
    .first()
    .waitFor();
}

// bound: a recording is sealed soon after its session is over
const SEALED_MS = 60_000;

/** Works in a shell until it ends, and says which recording that left. */
export async function leaveARecording(browser: Browser, server: Server, allocation: string): Promise<string> {
  const context = await open(browser, server.base);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.goto(allocation);
  await signIn(page, 'owner@demo.localhost', server.setting('GPUAAS_OWNER_PASSWORD'));
  await page.getByRole('button', { name: 'Open terminal' }).click();
  await typeLine(page, 'ls -l --color=always / && uname -a');
  await showsLine(page, 'Linux');
  await typeLine(page, 'exit');
  await page.getByText('The shell exited.').waitFor();
  // Another one waits for its person.
  await page.getByRole('button', { name: 'New shell' }).first().click();
  await typeLine(page, 'nvidia-smi -L');
  await context.close();
  const until = Date.now() + SEALED_MS;
  while (Date.now() < until) {
    const { items } = (await server.call(
      'GET',
      '/v1/platform/recordings?state=sealed',
      undefined,
      server.setting('GPUAAS_OPERATOR_TOKEN'),
    )) as { items: { id: string }[] };
    if (items[0]) return items[0].id;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error('no recording was sealed in time');
}
