/** Accounts by mail: one is created, its password is reset and its address changed, each with a mailed token. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { launch, open } from './browser';
import { Server } from './server';

// bound: mails are written within a moment of the request
const MAIL_MS = 20_000;
const PAUSE_MS = 100;

const FIRST = { email: 'newcomer@example.com', password: 'a first long password' };
const SECOND = 'a second long password';
const MOVED = 'moved@example.com';

let server: Server;
let browser: Browser;
const read = new Set<string>();

/** The link of the next mail to an address that leads to a page of the console. */
async function link(to: string, page: string): Promise<string> {
  const folder = join(server.where.folder, 'mails');
  const deadline = Date.now() + MAIL_MS;
  for (;;) {
    for (const name of readdirSync(folder).filter((it) => !read.has(it))) {
      const text = readFileSync(join(folder, name), 'utf8');
      // Soft line breaks and `=` as mail writes them.
      const plain = text.replaceAll('=\r\n', '').replaceAll('=3D', '=');
      const found = new RegExp(`/${page}#token=gpm_[\\w-]+`).exec(plain);
      if (!plain.includes(to) || !found) continue;
      read.add(name);
      return found[0];
    }
    if (Date.now() > deadline) throw new Error(`no mail to ${to} leads to ${page}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

async function visit(): Promise<Page> {
  const context = await open(browser, server.base);
  return context.newPage();
}

async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

beforeAll(async () => {
  server = await Server.start();
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test('account is created with the mailed token once the platform offers it, and with no other', async () => {
  const page = await visit();
  await page.goto('/sign-up');
  await page.getByLabel('Email address').fill(FIRST.email);
  await page.getByRole('button', { name: 'Send email' }).click();
  await page.getByRole('alert').getByText('Ask an operator').waitFor();
  await server.asOperator('PUT', '/v1/platform/policies/identity.self_service', { value: 'true' });
  await page.getByRole('button', { name: 'Send email' }).click();
  await page.getByLabel('Token').fill('gpm_0000000000000000000000000000000000000000000');
  await page.getByLabel('Your name').fill('Newcomer');
  await page.getByLabel('Password').fill(FIRST.password);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('alert').waitFor();
  expect(await page.getByLabel('Your name').inputValue()).toBe('Newcomer');
  await page.goto(await link(FIRST.email, 'sign-up'));
  await page.reload();
  expect(await page.getByLabel('Token').inputValue()).toMatch(/^gpm_/);
  await page.getByLabel('Your name').fill('Newcomer');
  await page.getByLabel('Password').fill(FIRST.password);
  await page.getByRole('button', { name: 'Create account' }).click();
  await page.getByRole('status').waitFor();
  expect(page.url()).not.toContain('gpm_');
  await signIn(page, FIRST.email, FIRST.password);
  await page.getByLabel('Organization name').waitFor();
});

test('password is reset with the mailed token, and the old one opens nothing', async () => {
  const page = await visit();
  await page.goto('/sign-in');
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  // The page before has a field of the same name.
  await page.getByRole('heading', { name: 'Reset your password' }).waitFor();
  await page.getByLabel('Email address').fill(FIRST.email);
  await page.getByRole('button', { name: 'Send email' }).click();
  await page.getByLabel('Token').waitFor();
  await page.goto(await link(FIRST.email, 'reset-password'));
  await page.reload();
  await page.getByLabel('Password').fill(SECOND);
  await page.getByRole('button', { name: 'Set password' }).click();
  await page.getByRole('status').waitFor();
  await signIn(page, FIRST.email, FIRST.password);
  await page.getByRole('alert').waitFor();
  await signIn(page, FIRST.email, SECOND);
  await page.getByLabel('Organization name').waitFor();
});

test('address is changed with the mailed token, and every session ends', async () => {
  const page = await visit();
  await signIn(page, FIRST.email, SECOND);
  await page.getByLabel('Organization name').fill('Newcomers');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { name: 'Newcomers' }).waitFor();
  await page.goto('/account');
  await page.getByLabel('New email address').fill(MOVED);
  await page.getByLabel('Current password').last().fill(SECOND);
  await page.getByRole('button', { name: 'Send email' }).click();
  await page.getByLabel('Token').waitFor();
  await page.goto(await link(MOVED, 'account'));
  await page.reload();
  await page.getByRole('button', { name: 'Change email address' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  await signIn(page, MOVED, SECOND);
  await page.getByRole('navigation').first().waitFor();
});
