/** One person's day: sign in, launch, watch it become active, release it, see the cost. */

import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch, open, Watch } from './browser';
import { Server } from './server';

let server: Server;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let watch: Watch;

const EMAIL = 'owner@demo.localhost';

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  context = await open(browser, server.base);
  page = await context.newPage();
  watch = new Watch(page, server.base);
  page.setDefaultTimeout(15_000);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test('deep link asks to sign in and then opens its page', async () => {
  const org = server.setting('GPUAAS_ORGANIZATION');
  await page.goto(`/o/${org}/allocations?state=active`);
  await page.getByLabel('Email address').fill(EMAIL);
  await page.getByLabel('Password').fill('not the password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').getByText('email address or password is wrong').waitFor();
  await page.getByRole('alert').getByText('Correlation ID').waitFor();
  await page.getByLabel('Password').fill(server.setting('GPUAAS_OWNER_PASSWORD'));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Allocations' }).waitFor();
  expect(new URL(page.url()).search).toBe('?state=active');
});

test('tokens are out of reach of scripts', async () => {
  const kept = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
  );
  expect(kept).not.toMatch(/gpr_|eyJ/);
  const cookies = await context.cookies();
  expect(cookies.map((it) => [it.httpOnly, it.sameSite, it.path])).toEqual([[true, 'Strict', '/']]);
});

test('session survives a reload', async () => {
  await page.reload();
  await page.getByRole('heading', { name: 'Allocations' }).waitFor();
  await page.getByText('Live', { exact: true }).first().waitFor();
});

test('allocation is launched and becomes active live', async () => {
  await page.getByRole('link', { name: 'Launch', exact: true }).click();
  await page.getByRole('radio', { name: /h200-slice/ }).click();
  await page
    .getByRole('radiogroup', { name: 'GPUs per node' })
    .getByRole('radio', { name: '2', exact: true })
    .click();
  await page.getByText('$7.00 USD').waitFor();
  await page.getByLabel('Name').fill('notebook');
  await page.getByLabel('Tags').fill('team=vision');
  await page.getByRole('button', { name: 'Launch' }).click();
  await page.getByRole('heading', { name: 'notebook' }).waitFor();
  // Nothing is clicked: the state arrives by itself.
  await page.locator('[aria-current=step]', { hasText: 'Active' }).waitFor();
  await page.getByText(/^ssh g[0-9a-f]+@sim-/).waitFor();
});

/** What the table of allocations leads to; events name it too. */
const held = (name: string) => page.getByRole('table').getByRole('link', { name });

test('allocation launched elsewhere appears live', async () => {
  await page.getByRole('link', { name: 'Overview' }).click();
  await held('notebook').waitFor();
  const project = server.setting('GPUAAS_PROJECT');
  await server.call('POST', `/v1/projects/${project}/allocations`, {
    sku: 'h200-slice',
    gpus: 1,
    name: 'from-the-cli',
  });
  const row = page.getByRole('row', { name: /from-the-cli/ });
  await row.getByText('Active').waitFor();
});

test('release asks for the name, shows the cost, and is followed to its end', async () => {
  await held('notebook').click();
  await page.getByRole('button', { name: 'Release' }).click();
  const dialog = page.getByRole('dialog');
  const confirm = dialog.getByRole('button', { name: 'Release' });
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByText(/Cost so far: \$/).waitFor();
  await dialog.getByLabel(/Type/).fill('notebook');
  await confirm.click();
  await page.locator('[aria-current=step]', { hasText: 'Released' }).waitFor();
});

test('palette finds a page by a few letters', async () => {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Command palette' }).fill('overv');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Demo' }).waitFor();
});

test('launch form survives an expired session', async () => {
  await page.getByRole('link', { name: 'Launch', exact: true }).click();
  await page.getByLabel('Name').fill('typed-before-the-end');
  const signedIn = (await server.call('POST', '/v1/sessions', {
    email: EMAIL,
    password: server.setting('GPUAAS_OWNER_PASSWORD'),
  })) as { access_token: string };
  await server.call('DELETE', '/v1/sessions', undefined, signedIn.access_token);
  await page.getByRole('button', { name: 'Launch' }).click();
  const dialog = page.getByRole('dialog', { name: 'Your session has expired' });
  await dialog.getByLabel('Password').fill(server.setting('GPUAAS_OWNER_PASSWORD'));
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await page.getByLabel('Name').inputValue()).toBe('typed-before-the-end');
  await page.getByRole('button', { name: 'Launch' }).click();
  await page.getByRole('heading', { name: 'typed-before-the-end' }).waitFor();
});

test('banner reports an unreachable server, and the page stays', async () => {
  const banner = page.getByText('Cannot reach the server. Data on this page may be out of date.');
  await page.route('**/v1/**', (route) => route.abort());
  // A page whose answers nothing else has asked for.
  await page.getByRole('link', { name: 'Audit log' }).click();
  await banner.waitFor();
  // What is tried by itself ends after a few times; then it is the reader's turn.
  const failure = page.getByRole('alert').filter({ hasText: 'Check your connection' });
  await failure.waitFor();
  await page.unroute('**/v1/**');
  await failure.getByRole('button', { name: 'Try again' }).click();
  await failure.waitFor({ state: 'detached' });
  await page.getByRole('row').nth(1).waitFor();
  await banner.waitFor({ state: 'detached' });
});

test('cost appears in usage by project and by tag', async () => {
  await page.getByRole('link', { name: 'Usage' }).click();
  await page
    .getByRole('row', { name: /first-project/ })
    .getByText(/\$\d/)
    .waitFor();
  await page.getByRole('radio', { name: 'Tag' }).click();
  await page.getByRole('row', { name: /vision/ }).waitFor();
});

test('sign-out clears the session', async () => {
  await page.getByRole('button', { name: /Demo Owner/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await context.cookies()).toEqual([]);
  await page.goto('/account');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
});

test('pages violate no content security policy', () => {
  expect(watch.complaints).toEqual([]);
});
