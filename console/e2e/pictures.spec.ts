/** The pictures of the README: a few pages of a morning's work, always the same ones. */

import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch, open, signIn } from './browser';
import { Server } from './server';
import { showsLine, typeLine } from './shells';
import { fill, type Places } from './world';

/** `scripts/console.sh pictures` names the folder that is committed. */
const PICTURES = process.env.GPUAAS_PICTURES ?? join(import.meta.dirname, '..', 'screenshots', 'pictures');
// bound: they are part of every clone
const LARGEST_BYTES = 250_000;
const SIZE = { width: 1280, height: 800 };

let server: Server;
let browser: Browser;
let places: { members: Places; operators: Places };

beforeAll(async () => {
  mkdirSync(PICTURES, { recursive: true });
  [server, browser] = await Promise.all([Server.start(), launch()]);
  places = await fill(server);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

async function enter(email: string, password: string, theme: 'light' | 'dark'): Promise<Page> {
  const page = await (await open(browser, server.base, { size: SIZE, theme })).newPage();
  page.setDefaultTimeout(20_000);
  await page.goto('/sign-in');
  await signIn(page, email, server.setting(password));
  return page;
}

async function picture(page: Page, name: string): Promise<void> {
  await page.waitForLoadState('networkidle');
  await page.locator('[role=status][aria-label="Loading…"]').first().waitFor({ state: 'detached' });
  const path = join(PICTURES, `${name}.png`);
  await page.screenshot({ path });
  expect(statSync(path).size, `${name} is too large for a clone`).toBeLessThan(LARGEST_BYTES);
}

test('pictures of member pages', { timeout: 180_000 }, async () => {
  const page = await enter('owner@demo.localhost', 'GPUAAS_OWNER_PASSWORD', 'light');
  const { members } = places;
  await page.goto(members.allocation ?? '');
  await page.locator('[aria-current=step]', { hasText: 'Active' }).waitFor();
  await page.goto(members.overview ?? '');
  await page.getByRole('row', { name: /fine-tune-7b/ }).waitFor();
  await picture(page, 'overview');

  await page.goto(members.launch ?? '');
  await page.getByRole('radio', { name: /h200-slice/ }).click();
  await page
    .getByRole('radiogroup', { name: 'GPUs per node' })
    .getByRole('radio', { name: '4', exact: true })
    .click();
  await page.getByLabel('Name').fill('fine-tune-13b');
  await picture(page, 'launch');

  await page.goto(members.allocation ?? '');
  await page.locator('[aria-current=step]', { hasText: 'Active' }).waitFor();
  await picture(page, 'allocation');

  await page.getByRole('button', { name: 'Open terminal' }).click();
  await typeLine(page, 'nvidia-smi -L; id -un; df -h --output=target,avail /');
  await showsLine(page, 'GPU 1');
  await page.getByRole('link', { name: 'Full screen' }).click();
  await page.waitForURL('**/terminal');
  await showsLine(page, 'Mounted on');
  await picture(page, 'terminal');

  await page.goto(members.usage ?? '');
  await page.getByRole('row', { name: /first-project/ }).waitFor();
  await picture(page, 'usage');
});

test('pictures of operator pages', { timeout: 120_000 }, async () => {
  const page = await enter('operator@demo.localhost', 'GPUAAS_OPERATOR_PASSWORD', 'dark');
  await page.goto(places.operators.fleet ?? '');
  await page.locator('h1').first().waitFor();
  await picture(page, 'fleet');
});
