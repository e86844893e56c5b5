import { expect, test } from 'vitest';
import { NOTHING, prove, type Proven } from './proving';

const part = { organizations: 0, journals: 2, entries: 4, intervals: 1 };

async function proven(parts: object[], most?: number): Promise<Proven> {
  let last = NOTHING;
  const answers = parts.map((it) => ({ ...part, ...it }));
  const tell = (told: Proven) => {
    last = told;
  };
  await prove(NOTHING, () => Promise.resolve(answers.shift() ?? part), tell, most);
  return last;
}

test('proof parts add up to the end', async () => {
  expect(await proven([{ next_after: 'a' }, { next_after: 'b' }, {}])).toEqual({
    journals: 6,
    entries: 12,
    intervals: 3,
  });
});

test('proof ends at a difference, with nothing left to check', async () => {
  const difference = { organization_id: 'org', what: 'edited', journal: 9 };
  const found = await proven([{ next_after: 'a' }, { difference, next_after: 'b' }, {}]);
  expect(found).toMatchObject({ journals: 4, difference });
  expect(found.after).toBeUndefined();
});

test('proof that is not finished says where to continue', async () => {
  expect(await proven([{ next_after: 'a' }, { next_after: 'b' }, {}], 2)).toMatchObject({ after: 'b' });
});

test('proof rejects the same part twice', async () => {
  await expect(proven([{ next_after: 'a' }, { next_after: 'a' }])).rejects.toThrow('again');
});
