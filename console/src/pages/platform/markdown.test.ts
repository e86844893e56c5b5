import { expect, test } from 'vitest';
import { blocks, spans } from './markdown';

test('strong words, code and links are told apart', () => {
  expect(spans('**What.** Run `a b`, see [it](x.md).')).toEqual([
    { kind: 'strong', text: 'What.' },
    { kind: 'text', text: ' Run ' },
    { kind: 'code', text: 'a b' },
    { kind: 'text', text: ', see ' },
    { kind: 'link', text: 'it', to: 'x.md' },
    { kind: 'text', text: '.' },
  ]);
});

test('headings, lists and code are separate blocks', () => {
  const found = blocks('# A\n\nB\n\n```\nc\n# d\n```\n\n- e\n- f\n\n1. g\n');
  expect(found.map((it) => it.kind)).toEqual(['heading', 'paragraph', 'code', 'list', 'list']);
  expect(found[2]).toEqual({ kind: 'code', text: 'c\n# d' });
});

test('code block that is never closed ends with the file', () => {
  expect(blocks('```\na')).toEqual([{ kind: 'code', text: 'a' }]);
});
