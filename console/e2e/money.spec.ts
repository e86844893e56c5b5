/** From nobody to a bill: single sign-on, credit, a payment, an allocation and what it cost. */

import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch, open } from './browser';
import { visit } from './people';
import { Server } from './server';
import { pay } from './stripe';

const ORGANIZATION = 'Ada Labs';
const CHECKOUT = 'https://checkout.stripe.test/**';
let server: Server;
let browser: Browser;
let page: Page;
const errors: string[] = [];

beforeAll(async () => {
  server = Server.shared();
  browser = await launch();
  page = await (await open(browser, server.base)).newPage();
  page.setDefaultTimeout(15_000);
  page.on('pageerror', (error) => errors.push(error.message));
});

afterAll(() => browser?.close());

async function go(name: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
}

test('single sign-on returns to the console', async () => {
  await page.goto('/account');
  await page.getByRole('button', { name: 'Continue with single sign-on' }).click();
  await page.getByLabel('Who are you?').fill('ada');
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.waitForURL(`${server.base}/**`);
  // To the page that was asked for, or to the one that makes an organization.
  await page.getByLabel('Organization name').fill(ORGANIZATION);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { name: ORGANIZATION }).waitFor();
  expect(new URL(page.url()).search).toBe('');
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
  expect(kept).not.toMatch(/code|eyJ/);
});

test('sign-in response that this browser did not request is rejected', async () => {
  const other = await (await open(browser, server.base)).newPage();
  await other.goto('/signed-in?code=stolen&state=elsewhere');
  await other.getByText('This sign-in was not started in this browser.').waitFor();
  await other.context().close();
});

test('credit from an operator appears immediately', async () => {
  await go('Balance');
  await page.getByText('No funds yet').waitFor();
  const operator = await visit(browser, server, 'operator');
  await operator.page.getByRole('link', { name: 'Organizations' }).click();
  await operator.page.getByRole('link', { name: ORGANIZATION }).click();
  await operator.page.getByRole('button', { name: 'Grant credit' }).click();
  const dialog = operator.page.getByRole('dialog');
  await dialog.getByLabel('Amount').fill('40');
  await dialog.getByLabel('Reason').fill('welcome');
  await dialog.getByRole('button', { name: 'Grant credit' }).click();
  // The member's page, where nobody clicks anything.
  await page.getByText('$40.00 USD').first().waitFor();
  expect(operator.watch.complaints).toEqual([]);
  await operator.page.context().close();
});

test('payment at the provider reaches the balance', async () => {
  await page.route(CHECKOUT, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<h1>Pay $50.00</h1>' }),
  );
  await page.getByRole('button', { name: 'Top up' }).first().click();
  await page.getByRole('dialog').getByLabel('Amount').fill('50');
  const made = page.waitForResponse(
    (it) => it.request().method() === 'POST' && it.url().includes('/payments'),
  );
  await page.getByRole('dialog').getByRole('button', { name: 'Continue to payment' }).click();
  const { id } = (await (await made).json()) as { id: string };
  await page.getByRole('heading', { name: 'Pay $50.00' }).waitFor();
  await pay(id, server.base);
  await page.goto('/');
  await go('Balance');
  await page.getByText('$90.00 USD').first().waitFor();
  await page.getByRole('region', { name: 'Payments' }).getByText('Succeeded').waitFor();
});

test('allocation is launched, becomes active live, and is released after its name is typed', async () => {
  await go('Launch');
  await page.getByText('Create a project first').waitFor();
  await page.getByText('gpuaas projects create').waitFor();
  await page.getByRole('main').getByRole('link', { name: 'New project' }).click();
  await page.getByRole('button', { name: 'New project' }).first().click();
  await page.getByRole('dialog').getByLabel('Name').fill('research');
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('row', { name: /research/ }).waitFor();
  await go('Launch');
  await page.getByRole('radio', { name: /h200-slice/ }).click();
  await page.getByLabel('Name').fill('first-try');
  let loads = 0;
  page.on('domcontentloaded', () => (loads += 1));
  await page.getByRole('button', { name: 'Launch' }).click();
  await page.locator('[aria-current=step]', { hasText: 'Active' }).waitFor();
  // It costs while it is looked at.
  await expect
    .poll(() => page.getByText(/^\$0\.00[1-9]|^\$0\.0[1-9]/).count(), { timeout: 20_000 })
    .toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Release' }).click();
  const dialog = page.getByRole('dialog');
  const confirm = dialog.getByRole('button', { name: 'Release' });
  await dialog.getByLabel(/Type/).fill('first-tri');
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByLabel(/Type/).fill('first-try');
  await confirm.click();
  await page.locator('[aria-current=step]', { hasText: 'Released' }).waitFor();
  expect(loads).toBe(0);
});

test('single sign-on session that expires is renewed without losing the form', async () => {
  await go('Launch');
  const asked = page.waitForRequest((it) => it.url().includes('/v1/') && 'authorization' in it.headers());
  await page.reload();
  const token = (await asked).headers().authorization?.replace('Bearer ', '') ?? '';
  await page.getByLabel('Name').fill('typed-before-the-end');
  await server.call('DELETE', '/v1/sessions', undefined, token);
  await page.getByRole('button', { name: 'Launch' }).click();
  const ended = page.getByRole('dialog', { name: 'Your session has expired' });
  const [other] = await Promise.all([
    page.context().waitForEvent('page'),
    ended.getByRole('link', { name: 'Continue with single sign-on' }).click(),
  ]);
  await other.getByRole('button', { name: 'Continue with single sign-on' }).click();
  await other.getByRole('heading', { name: 'Account' }).waitFor();
  // Nothing is clicked in the first tab.
  await ended.waitFor({ state: 'detached' });
  await other.close();
  expect(await page.getByLabel('Name').inputValue()).toBe('typed-before-the-end');
  await page.getByRole('button', { name: 'Launch' }).click();
  await page.getByRole('heading', { name: 'typed-before-the-end' }).waitFor();
});

test('cost appears in usage and in the exported file', async () => {
  await go('Usage');
  await page
    .getByRole('row', { name: /research/ })
    .getByText(/^\$0\.0/)
    .waitFor();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).first().click(),
  ]);
  expect(file.suggestedFilename()).toMatch(/^usage-by-project-\d{4}-\d\d-\d\d\.csv$/);
  const [head, line] = readFileSync(await file.path(), 'utf8').split('\r\n');
  expect(head).toBe('Project,gpu_seconds,amount,currency');
  expect(line).toMatch(/^research,[\d.]+,0\.0\d+,USD$/);
});

test('pages raise no errors', () => expect(errors).toEqual([]));
