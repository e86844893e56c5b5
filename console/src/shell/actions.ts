/** What can be begun from anywhere: each is a page with one of its dialogs open. */

import { shell } from '@/strings';
import type { IconName } from '@/ui/Icon';
import type { Act } from './organization';

export interface Action {
  name: string;
  icon: IconName;
  /** The address; `$org` stands for the organization. */
  to: string;
  /** What a role must be allowed to; anybody else may do it for themselves. */
  act?: Act;
}

const names = shell.actions;

export const ACTIONS: readonly Action[] = [
  { name: names.launch, icon: 'plus', to: '/o/$org/launch', act: 'use' },
  { name: names.newProject, icon: 'project', to: '/o/$org/projects?open=new', act: 'use' },
  { name: names.topUp, icon: 'billing', to: '/o/$org/billing?open=top-up', act: 'pay' },
  { name: names.newBudget, icon: 'limits', to: '/o/$org/limits?open=new', act: 'pay' },
  { name: names.invite, icon: 'members', to: '/o/$org/members?open=invite', act: 'administer' },
  { name: names.newAccount, icon: 'robot', to: '/o/$org/service-accounts?open=new', act: 'administer' },
  { name: names.newWebhook, icon: 'webhook', to: '/o/$org/webhooks?open=new', act: 'administer' },
  { name: names.addSshKey, icon: 'key', to: '/account/ssh-keys?open=new' },
  { name: names.newKey, icon: 'key', to: '/account?open=key' },
  { name: names.newOrganization, icon: 'building', to: '/welcome' },
];
