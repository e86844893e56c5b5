/** Why the value of a policy is the one that applies. */

import type { Schemas } from '@/api/client';
import { platform } from '@/strings';

const text = platform.policies;

export function whyApplies({ source, levels }: Pick<Schemas['Policy'], 'source' | 'levels'>): string {
  const overridden = levels.filter((it) => it.overridden).at(-1);
  if (overridden) return text.isTighter(source, overridden.level);
  if (source === 'default') return text.isDefault;
  return levels.at(-1)?.level === source ? text.isHere : text.isAbove(source);
}
