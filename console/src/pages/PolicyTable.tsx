/** Policies as they apply at a level, explained, and set there. */

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '@/api/client';
import { unitOf, words } from '@/format/size';
import { matches } from '@/shell/matches';
import { common, platform } from '@/strings';
import { useAct } from '@/ui/act';
import { Badge } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Facts } from '@/ui/Card';
import { Dialog, DialogActions } from '@/ui/Dialog';
import { Failure } from '@/ui/Feedback';
import { Input } from '@/ui/Form';
import { Table } from '@/ui/Table';
import { Dotted, Time } from '@/ui/Values';
import { spans } from './platform/markdown';
import { whyApplies } from './policies/why';

const text = platform.policies;
export type Policy = Schemas['Policy'];

export interface Level {
  name: 'platform' | 'organization' | 'project';
  set: (key: string, value: string) => Promise<unknown>;
  unset: (key: string) => Promise<unknown>;
}

/** Units that say nothing to a reader. */
const PLAIN = ['flag', 'count', 'word', 'tag'];

interface Props {
  items: readonly Policy[];
  typed: string;
  level: Level | undefined;
  opened: string | undefined;
  onOpen: (key: string | undefined) => void;
}

export function PolicyTable({ items, typed, level, opened, onOpen }: Props) {
  const open = items.find((it) => it.key === opened);
  return (
    <>
      <Table
        label={text.title}
        items={items.filter((it) => matches(typed, `${it.key} ${it.about}`))}
        keyOf={(it) => it.key}
        columns={[
          {
            name: text.key,
            cell: (it) => (
              <button type="button" onClick={() => onOpen(it.key)} className="text-left hover:underline">
                <Dotted name={it.key} className="font-medium" />{' '}
                {it.guardrail && <Badge>{text.guardrail}</Badge>}
                <span className="block text-sm text-faint">
                  <About text={it.about} />
                </span>
              </button>
            ),
          },
          {
            name: text.value,
            end: true,
            cell: (it) => (
              <span className="whitespace-nowrap">
                {it.value || '–'}{' '}
                <span className="text-faint">{PLAIN.includes(it.unit) ? '' : unitOf(it.value, it.unit)}</span>
              </span>
            ),
          },
          { name: text.source, wide: true, end: true, cell: (it) => words(it.source) },
        ]}
      />
      {open && <PolicyDialog key={open.key} policy={open} level={level} onClose={() => onOpen(undefined)} />}
    </>
  );
}

/** What a policy is about, with the values in it told apart. */
function About({ text: about }: { text: string }) {
  return spans(about).map((it, at) =>
    it.kind === 'code' ? (
      <code key={at} className="font-mono text-xs">
        {it.text}
      </code>
    ) : (
      it.text
    ),
  );
}

interface DialogProps {
  policy: Policy;
  level: Level | undefined;
  onClose: () => void;
}

function PolicyDialog({ policy, level, onClose }: DialogProps) {
  const queries = useQueryClient();
  const [value, setValue] = useState(policy.value);
  const { busy, error, act } = useAct();
  const finish = async (work: () => Promise<unknown>) => {
    const isDone = await act(async () => {
      await work();
      await queries.invalidateQueries({ queryKey: ['policy'] });
    });
    if (isDone) onClose();
  };
  const isSetHere = policy.levels.some((it) => it.level === level?.name && it.value !== null);
  return (
    <Dialog title={policy.key} lead={<About text={policy.about} />} onClose={onClose}>
      <Facts
        items={[
          [text.accepts, policy.accepts],
          [text.default, policy.default || '–'],
          [text.why, whyApplies(policy)],
          policy.guardrail && [text.guardrail, text.guardrailHint],
          [
            text.levels,
            <ul key="levels">
              {policy.levels.map((it) => (
                <li key={it.level}>
                  {words(it.level)}: {it.value ?? '–'}{' '}
                  {it.overridden && <span className="text-faint">({text.overridden})</span>}
                  {it.set_at && (
                    <span className="text-faint">
                      {' '}
                      <Time at={it.set_at} />
                    </span>
                  )}
                </li>
              ))}
            </ul>,
          ],
        ]}
      />
      {level && (
        <form
          className="mt-4"
          onSubmit={(event) => {
            event.preventDefault();
            void finish(() => level.set(policy.key, value));
          }}
        >
          <Input
            label={text.value}
            required
            value={value}
            onChange={(event) => setValue(event.target.value)}
          />
          {error !== undefined && (
            <div className="mt-4">
              <Failure error={error} />
            </div>
          )}
          <DialogActions>
            <Button onClick={onClose}>{common.cancel}</Button>
            {isSetHere && (
              <Button busy={busy} onClick={() => void finish(() => level.unset(policy.key))}>
                {text.unset}
              </Button>
            )}
            <Button type="submit" kind="primary" busy={busy} disabled={value === policy.value}>
              {text.set}
            </Button>
          </DialogActions>
        </form>
      )}
    </Dialog>
  );
}
