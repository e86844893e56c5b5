/** Every view and its address. Pages are loaded when they are opened. */

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { PageAwayError } from './api/problem';
import { Crashed, NotFound } from './pages/Lost';
import { Shell } from './shell/Shell';
import { isThere, reach } from './session/reach';
import { refresh, standing } from './session/session';

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound, errorComponent: Crashed });

interface Return {
  to?: string | undefined;
}

/** Only addresses of this site are gone back to. */
function backTo(search: Record<string, unknown>): Return {
  const to = search.to;
  return typeof to === 'string' && /^\/(?!\/)/.test(to) ? { to } : {};
}

const outside = {
  signIn: createRoute({
    getParentRoute: () => root,
    path: '/sign-in',
    validateSearch: backTo,
    component: lazyRouteComponent(() => import('./pages/SignIn'), 'SignIn'),
  }),
  signUp: createRoute({
    getParentRoute: () => root,
    path: '/sign-up',
    component: lazyRouteComponent(() => import('./pages/SignUp'), 'SignUp'),
  }),
  resetPassword: createRoute({
    getParentRoute: () => root,
    path: '/reset-password',
    component: lazyRouteComponent(() => import('./pages/ResetPassword'), 'ResetPassword'),
  }),
  signedIn: createRoute({
    getParentRoute: () => root,
    path: '/signed-in',
    validateSearch: (search: Record<string, unknown>) => ({
      code: typeof search.code === 'string' ? search.code : undefined,
      state: typeof search.state === 'string' ? search.state : undefined,
    }),
    component: lazyRouteComponent(() => import('./pages/SignedIn'), 'SignedIn'),
  }),
};

const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: Shell,
  beforeLoad: async ({ location }) => {
    if (standing.get() === 'unknown') await refresh();
    if (standing.get() === 'out') throw redirect({ to: '/sign-in', search: { to: location.href } });
  },
});

/**
 * Why a page could not be loaded. After a new release its file has another name,
 * and the router opens the console anew. While the server is away that would
 * leave nothing at all, so that it is told apart here.
 */
async function notLoaded(cause: unknown): Promise<never> {
  if (await isThere()) throw cause;
  reach.set('away');
  throw new PageAwayError(cause);
}

/** The view at an address inside: most have no parts of their own. */
function view<const P extends string>(
  path: P,
  page: () => Promise<Record<string, React.ComponentType>>,
  name: string,
) {
  return createRoute({
    getParentRoute: () => inside,
    path,
    component: lazyRouteComponent(() => page().catch(notLoaded), name),
  });
}

const views = [
  view('/', () => import('./pages/Home'), 'Home'),
  view('/welcome', () => import('./pages/Welcome'), 'Welcome'),
  view('/account', () => import('./pages/Account'), 'Account'),
  view('/account/ssh-keys', () => import('./pages/SshKeys'), 'SshKeys'),
  view('/account/notifications', () => import('./pages/Notifications'), 'Notifications'),
  view('/o/$org', () => import('./pages/Overview'), 'Overview'),
  view('/o/$org/launch', () => import('./pages/Launch'), 'Launch'),
  view('/o/$org/allocations', () => import('./pages/Allocations'), 'Allocations'),
  view('/o/$org/allocations/$project/$allocation', () => import('./pages/Allocation'), 'AllocationPage'),
  view('/o/$org/allocations/$allocation', () => import('./pages/AllocationById'), 'AllocationById'),
  view('/o/$org/usage', () => import('./pages/Usage'), 'UsagePage'),
  view('/o/$org/billing', () => import('./pages/Billing'), 'Billing'),
  view('/o/$org/invoices', () => import('./pages/Invoices'), 'Invoices'),
  view('/o/$org/invoices/$invoice', () => import('./pages/Invoice'), 'InvoicePage'),
  view('/o/$org/limits', () => import('./pages/Limits'), 'Limits'),
  view('/o/$org/projects', () => import('./pages/Projects'), 'Projects'),
  view('/o/$org/projects/$project', () => import('./pages/Project'), 'ProjectPage'),
  view('/o/$org/members', () => import('./pages/Members'), 'Members'),
  view('/o/$org/service-accounts', () => import('./pages/ServiceAccounts'), 'ServiceAccounts'),
  view('/o/$org/service-accounts/$account', () => import('./pages/ServiceAccount'), 'ServiceAccountPage'),
  view('/o/$org/webhooks', () => import('./pages/Webhooks'), 'Webhooks'),
  view('/o/$org/webhooks/$webhook', () => import('./pages/Webhook'), 'WebhookPage'),
  view('/o/$org/events', () => import('./pages/Events'), 'Events'),
  view('/o/$org/audit', () => import('./pages/Audit'), 'Audit'),
  view('/o/$org/settings', () => import('./pages/Settings'), 'Settings'),
  view('/platform/fleet', () => import('./pages/platform/Fleet'), 'Fleet'),
  view('/platform/nodes/$node', () => import('./pages/platform/Node'), 'NodePage'),
  view('/platform/enrollment', () => import('./pages/platform/Enrollment'), 'Enrollment'),
  view('/platform/maintenance', () => import('./pages/platform/Maintenance'), 'Maintenance'),
  view('/platform/skus', () => import('./pages/platform/Skus'), 'Skus'),
  view('/platform/organizations', () => import('./pages/platform/Organizations'), 'Organizations'),
  view(
    '/platform/organizations/$organization',
    () => import('./pages/platform/Organization'),
    'OrganizationPage',
  ),
  view('/platform/pools', () => import('./pages/platform/Pools'), 'Pools'),
  view('/platform/users', () => import('./pages/platform/Users'), 'Users'),
  view('/platform/ledger', () => import('./pages/platform/Ledger'), 'Ledger'),
  view('/platform/audit', () => import('./pages/platform/PlatformAudit'), 'PlatformAudit'),
  view('/platform/policies', () => import('./pages/platform/Policies'), 'Policies'),
  view('/platform/dead-letters', () => import('./pages/platform/DeadLetters'), 'DeadLetters'),
  view('/platform/revenue', () => import('./pages/platform/Revenue'), 'RevenuePage'),
  view('/platform/machines', () => import('./pages/platform/Machines'), 'Machines'),
  view('/platform/agents', () => import('./pages/platform/Agents'), 'Agents'),
  view('/platform/payments', () => import('./pages/platform/Payments'), 'Payments'),
  view('/platform/invoices', () => import('./pages/platform/AllInvoices'), 'AllInvoices'),
  view('/platform/invoices/$invoice', () => import('./pages/platform/AnyInvoice'), 'AnyInvoicePage'),
  view('/platform/mails', () => import('./pages/platform/Mails'), 'Mails'),
  view('/platform/events', () => import('./pages/platform/PlatformEvents'), 'PlatformEvents'),
  view('/platform/runbooks/$runbook', () => import('./pages/platform/Runbook'), 'RunbookPage'),
  view('/platform/work', () => import('./pages/platform/Work'), 'Work'),
  view('/o/$org/sessions', () => import('./pages/Sessions'), 'Sessions'),
  view('/o/$org/recordings', () => import('./pages/Recordings'), 'Recordings'),
  view('/o/$org/recordings/$recording', () => import('./pages/Recording'), 'RecordingPage'),
  view('/platform/sessions', () => import('./pages/platform/LiveSessions'), 'LiveSessions'),
  view('/platform/gateways', () => import('./pages/platform/Gateways'), 'Gateways'),
  view('/platform/recordings', () => import('./pages/platform/AllRecordings'), 'AllRecordings'),
  view('/platform/recordings/$recording', () => import('./pages/platform/AnyRecording'), 'AnyRecording'),
] as const;

/** Views that fill the window, without the navigation beside them. */
const alone = createRoute({
  getParentRoute: () => root,
  id: 'alone',
  component: lazyRouteComponent(() => import('./shell/Alone'), 'Alone'),
  beforeLoad: async ({ location }) => {
    if (standing.get() === 'unknown') await refresh();
    if (standing.get() === 'out') throw redirect({ to: '/sign-in', search: { to: location.href } });
  },
});

const terminals = [
  createRoute({
    getParentRoute: () => alone,
    path: '/o/$org/allocations/$project/$allocation/terminal',
    component: lazyRouteComponent(() => import('./pages/Terminal'), 'TerminalPage'),
  }),
  createRoute({
    getParentRoute: () => alone,
    path: '/platform/allocations/$allocation/terminal',
    component: lazyRouteComponent(() => import('./pages/platform/BreakGlass'), 'BreakGlass'),
  }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren([
    outside.signIn,
    outside.signUp,
    outside.resetPassword,
    outside.signedIn,
    inside.addChildren([...views]),
    alone.addChildren([...terminals]),
  ]),
  defaultPreload: 'intent',
  // Inside, so that the navigation stays.
  defaultErrorComponent: Crashed,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
