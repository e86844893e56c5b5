import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '@/api/client';
import { budgetWhyQuery } from '@/api/money';
import { budgetWhy as text, common } from '@/strings';
import { Facts } from '@/ui/Card';
import { Dialog } from '@/ui/Dialog';
import { Answer } from '@/ui/Feedback';
import { Command } from '@/ui/Values';

interface Props {
  org: string;
  budget: Schemas['Budget'];
  project: string;
  onClose: () => void;
}

/** What a budget refuses and why, in the server's words. */
export function BudgetWhy({ org, budget, project, onClose }: Props) {
  const query = useQuery(budgetWhyQuery(org, budget.id));
  return (
    <Dialog title={text.title(project)} onClose={onClose}>
      <Answer query={query}>
        {(why) => (
          <Facts
            items={[
              [text.refuses, budget.mode === 'hard' ? text.hard : text.nothing],
              [text.status, `${why.rule}.`],
              why.change ? [text.way, `${why.change}.`] : null,
            ]}
          />
        )}
      </Answer>
      <div className="mt-5">
        <p className="mb-1.5 text-sm text-faint">{common.cliHint}</p>
        <Command>{text.command(budget.id)}</Command>
      </div>
    </Dialog>
  );
}
