/** Every page, light and dark, on a desk and on a phone: pictures, axe, and nothing cut off. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch, open, signIn, violations, Watch } from './browser';
import { Server } from './server';
import { leaveARecording, typeLine } from './shells';
import { fill, type Places } from './world';

const PICTURES = join(import.meta.dirname, '..', 'screenshots');
const LOOKS = [
  { name: 'desk', size: { width: 1280, height: 860 } },
  { name: 'phone', size: { width: 390, height: 844 } },
] as const;
const THEMES = ['light', 'dark'] as const;

let server: Server;
let browser: Browser;
let places: { members: Places; operators: Places };

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  [server, browser] = await Promise.all([Server.start(), launch()]);
  places = await fill(server);
  const recording = await leaveARecording(browser, server, places.members.allocation ?? '');
  places.members.recording = `/o/${server.setting('GPUAAS_ORGANIZATION')}/recordings/${recording}`;
  places.operators['any-recording'] = `/platform/recordings/${recording}`;
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

async function settled(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle');
  await page.locator('[role=status][aria-label="Loading…"]').first().waitFor({ state: 'detached' });
}

/** What is wider than the window, if the page scrolls sideways. */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const room = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= room) return [];
    const wide = [...document.querySelectorAll('body *')].filter(
      (it) => it.getBoundingClientRect().right > room + 1,
    );
    return wide.slice(-3).map((it) => it.outerHTML.slice(0, 160));
  });
}

/** Tables that have to be scrolled sideways: what is at their end is not seen. */
function cutTables(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('table')]
      .map((it) => it.parentElement)
      .filter((it) => it !== null && it.scrollWidth > it.clientWidth)
      .map((it) => `${it?.getAttribute('aria-label')}: ${it?.scrollWidth} in ${it?.clientWidth}`),
  );
}

describe.each(LOOKS)('$name', ({ name, size }) => {
  let context: BrowserContext | undefined;
  let page: Page;
  let watch: Watch | undefined;
  const found: Record<string, string[]> = {};
  const wide: Record<string, string[]> = {};

  const look = async (place: string) => {
    await settled(page);
    // What is over the page is shown with the window alone.
    const isOver = (await page.locator('dialog[open]').count()) > 0;
    // A page is opened once and turned over, as when a reader's system does.
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme });
      await page.locator(`html[data-theme=${theme}]`).waitFor();
      await page.screenshot({ path: join(PICTURES, `${place}.${name}-${theme}.png`), fullPage: !isOver });
      const seen = await violations(page);
      if (seen.length > 0) found[`${place} ${theme}`] = seen;
    }
    const cut = [...(await tooWide(page)), ...(await cutTables(page))];
    if (cut.length > 0) wide[place] = cut;
  };

  const enter = async (email: string, password: string) => {
    await context?.close();
    context = await open(browser, server.base, { size });
    page = await context.newPage();
    page.setDefaultTimeout(15_000);
    watch = new Watch(page, server.base, watch?.complaints);
    await page.goto('/sign-in');
    await look('sign-in');
    await signIn(page, email, server.setting(password));
  };

  const visit = async (all: Places) => {
    for (const [place, address] of Object.entries(all)) {
      await page.goto(address);
      await page.locator('h1').first().waitFor();
      await look(place);
    }
  };

  afterAll(() => context?.close());

  test('member pages are all rendered', { timeout: 240_000 }, async () => {
    await enter('owner@demo.localhost', 'GPUAAS_OWNER_PASSWORD');
    await visit(places.members);
    await page.goto(places.members.allocation ?? '');
    await page.getByRole('button', { name: 'Release' }).click();
    await look('release-dialog');
    await page.keyboard.press('Escape');
    await page.getByText('All states').click();
    await look('allocation-states');
    await page.keyboard.press('Control+k');
    await look('palette');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await look('shortcuts');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Open terminal' }).click();
    await typeLine(page, 'ls -l --color=always /');
    await page.locator('.xterm-rows').getByText('usr').first().waitFor();
    await look('allocation-terminal');
    await page.getByRole('link', { name: 'Full screen' }).click();
    await page.waitForURL('**/terminal');
    // The page before has the same rows until it is gone.
    await page.getByRole('link', { name: 'Full screen' }).waitFor({ state: 'detached' });
    await page.locator('.xterm-rows').getByText('usr').first().waitFor();
    await look('terminal');
    await typeLine(page, 'exit 1');
    await page.getByText('The shell exited with code 1.').waitFor();
    await look('terminal-over');
  });

  test('operator pages are all rendered', { timeout: 240_000 }, async () => {
    await enter('operator@demo.localhost', 'GPUAAS_OPERATOR_PASSWORD');
    await visit(places.operators);
  });

  test('pages have no accessibility violations', () => expect(found).toEqual({}));
  test('pages are no wider than the window', () => expect(wide).toEqual({}));
  test('pages log no errors', () => expect(watch?.complaints).toEqual([]));
});
