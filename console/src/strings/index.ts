/** All text that people read. A translation is another set of these files. */

export { common } from './common';
export { shell, signIn } from './shell';
export { allocations, launch, overview } from './compute';
export { billing, budgetWhy, charges, invoices, limits, proof, units, usage } from './money';
export {
  account,
  audit,
  ends,
  events,
  members,
  project,
  projects,
  serviceAccounts,
  settings,
  sshKeys,
  webhooks,
} from './people';
export { mfa } from './mfa';
export { operations } from './operations';
export { platform } from './platform';
export { access } from './access';
