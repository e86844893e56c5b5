import { expect, test } from 'vitest';
import { whyApplies } from './why';

const level = (name: string, value: string | null, overridden = false) => ({
  level: name,
  value,
  set_at: null,
  overridden,
});

test('policy source is explained by level', () => {
  const above = [level('default', '50'), level('organization', '20')];
  expect(whyApplies({ source: 'default', levels: [level('default', '50'), level('project', null)] })).toMatch(
    /default applies/,
  );
  expect(whyApplies({ source: 'project', levels: [...above, level('project', '5')] })).toMatch(
    /at this level/,
  );
  expect(whyApplies({ source: 'organization', levels: [...above, level('project', null)] })).toMatch(
    /from the organization level/,
  );
  expect(whyApplies({ source: 'organization', levels: [...above, level('project', '90', true)] })).toMatch(
    /organization value applies because it is tighter than the project value/,
  );
});
