/** What spec files share: a server with somewhere to sign in and somewhere to pay. */

import type { TestProject } from 'vitest/node';
import { Issuer } from './issuer';
import { freePort, Server } from './server';
import { Stripe } from './stripe';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const [issuer, stripe] = await Promise.all([Issuer.start(`${base}/signed-in`), Stripe.start()]);
  const server = await Server.start({ ...issuer.settings, ...stripe.settings }, port);
  // People of the issuer may come without an invitation.
  await server.asOperator('PUT', '/v1/platform/policies/identity.self_service', { value: 'true' });
  project.provide('server', server.where);
  project.provide('stripe', stripe.place);
  return async () => {
    await server.stop();
    stripe.stop();
    issuer.stop();
  };
}
