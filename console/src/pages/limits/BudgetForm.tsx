/** A budget: for which project, how much and what it does. Its project, currency and period stay as they are. */

import { useState } from 'react';
import type { Schemas } from '@/api/client';
import type { Project } from '@/api/compute';
import { parseMoney } from '@/format/money';
import { common, limits as text } from '@/strings';
import { Input, Select } from '@/ui/Form';
import { FormDialog } from '@/ui/FormDialog';
import { parsePercents } from './percents';

type Budget = Schemas['Budget'];

export interface BudgetDraft {
  project_id: string;
  amount_micros: number;
  currency: string;
  period: Schemas['BudgetPeriodChoice'];
  mode: Schemas['BudgetModeChoice'];
  thresholds: number[];
}

interface Props {
  projects: readonly Project[];
  currency: string;
  before?: Budget;
  onSave: (draft: BudgetDraft) => Promise<unknown>;
  onClose: () => void;
}

export function BudgetForm({ projects, currency, before, onSave, onClose }: Props) {
  const [project, setProject] = useState<string>(before?.project_id ?? projects[0]?.id ?? '');
  const [amount, setAmount] = useState(before ? String(before.amount_micros / 1e6) : '500');
  const [period, setPeriod] = useState((before?.period ?? 'month') as Schemas['BudgetPeriodChoice']);
  const [mode, setMode] = useState((before?.mode ?? 'hard') as Schemas['BudgetModeChoice']);
  const [percents, setPercents] = useState((before?.thresholds ?? [50, 80, 100]).join(', '));
  const micros = parseMoney(amount);
  const isAmount = micros !== undefined && micros > 0;
  const thresholds = parsePercents(percents);
  const options = (choices: Readonly<Record<string, string>>) =>
    Object.entries(choices).map(([value, name]) => (
      <option key={value} value={value}>
        {name}
      </option>
    ));
  return (
    <FormDialog
      title={before ? text.changeBudget : text.newBudget}
      lead={before && text.changeBudgetLead}
      action={before ? common.save : common.create}
      canSubmit={isAmount && thresholds !== undefined && project !== ''}
      onClose={onClose}
      onSubmit={() =>
        onSave({
          project_id: project,
          amount_micros: micros ?? 0,
          currency,
          period,
          mode,
          thresholds: thresholds ?? [],
        })
      }
    >
      {!before && (
        <Select label={common.project} value={project} onChange={(event) => setProject(event.target.value)}>
          {projects.map((it) => (
            <option key={it.id} value={it.id}>
              {it.name}
            </option>
          ))}
        </Select>
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <Input
          label={`${text.amount} (${currency})`}
          inputMode="decimal"
          required
          value={amount}
          error={isAmount ? undefined : text.amountBad}
          onChange={(event) => setAmount(event.target.value)}
        />
        {!before && (
          <Select
            label={text.period}
            value={period}
            onChange={(event) => setPeriod(event.target.value as Schemas['BudgetPeriodChoice'])}
          >
            {options(text.periods)}
          </Select>
        )}
      </div>
      <Select
        label={text.mode}
        value={mode}
        onChange={(event) => setMode(event.target.value as Schemas['BudgetModeChoice'])}
      >
        {options(text.modes)}
      </Select>
      <Input
        label={text.thresholds}
        hint={text.thresholdsHint}
        value={percents}
        error={thresholds ? undefined : text.thresholdsBad}
        onChange={(event) => setPercents(event.target.value)}
      />
    </FormDialog>
  );
}
