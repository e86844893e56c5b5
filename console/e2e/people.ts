/** The demo's people at a browser, and organizations of their own on a server that is shared. */

import type { Browser, Locator, Page } from 'playwright-core';
import { open, signIn, Watch } from './browser';
import type { Server } from './server';

export interface Visit {
  page: Page;
  watch: Watch;
}

/** Opens a browser's window and signs somebody in. */
export async function visit(browser: Browser, server: Server, who: 'owner' | 'operator'): Promise<Visit> {
  const page = await (await open(browser, server.base)).newPage();
  page.setDefaultTimeout(15_000);
  const watch = new Watch(page, server.base);
  await page.goto('/sign-in');
  await signIn(page, `${who}@demo.localhost`, server.setting(`GPUAAS_${who.toUpperCase()}_PASSWORD`));
  return { page, watch };
}

export interface Tenant {
  org: string;
  /** The API, as its owner. */
  call: <T = { id: string }>(method: string, path: string, body?: unknown) => Promise<T>;
}

/** A new organization of the demo's owner. */
export async function tenant(server: Server, name: string): Promise<Tenant> {
  const session = (await server.call('POST', '/v1/sessions', {
    email: 'owner@demo.localhost',
    password: server.setting('GPUAAS_OWNER_PASSWORD'),
  })) as { access_token: string };
  const call = <T>(method: string, path: string, body?: unknown) =>
    server.call(method, path, body, session.access_token) as Promise<T>;
  const { id } = await call<{ id: string }>('POST', '/v1/organizations', { name });
  return { org: id, call };
}

/** Gives an organization something to spend. */
export function credit(server: Server, org: string, dollars: number): Promise<unknown> {
  return server.asOperator('POST', `/v1/platform/organizations/${org}/credits`, {
    amount_micros: dollars * 1_000_000,
    currency: 'USD',
    reason: 'to try things out',
  });
}

// bound: how often a page is opened anew before it is believed
const LOOKS = 8;
const LOOK_MS = 4_000;

/** Waits for what a page of operators shows, which may have to be opened anew for that. */
export async function seen(page: Page, what: Locator): Promise<void> {
  for (let look = 1; look < LOOKS; look += 1) {
    const isShown = await what
      .first()
      .waitFor({ timeout: LOOK_MS })
      .then(() => true)
      .catch(() => false);
    if (isShown) return;
    await page.reload();
  }
  await what.first().waitFor({ timeout: LOOK_MS });
}
