import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { projectsQuery } from '@/api/compute';
import { balanceQuery, budgetsQuery, policyQuery, quotasQuery } from '@/api/money';
import { money } from '@/format/money';
import { useOpened } from '@/shell/opened';
import { useMay, useOrg } from '@/shell/organization';
import { budgetWhy, common, limits as text } from '@/strings';
import { Button, NewButton } from '@/ui/Button';
import { Confirm } from '@/ui/Dialog';
import { List } from '@/ui/List';
import { Meter } from '@/ui/Meter';
import { Page } from '@/ui/Page';
import { BudgetForm } from './limits/BudgetForm';
import { BudgetWhy } from './limits/BudgetWhy';

type Budget = Schemas['Budget'];

export function Limits() {
  const org = useOrg();
  return (
    <Page title={text.title} lead={text.lead}>
      <Quotas org={org} />
      <Budgets org={org} />
    </Page>
  );
}

function Quotas({ org }: { org: string }) {
  const quotas = useQuery(quotasQuery(org));
  const most = useQuery(policyQuery(org, 'allocations.max_gpus'));
  return (
    <List
      title={text.quotas}
      lead={text.quotasLead}
      query={quotas}
      empty={most.data ? `${text.noQuotas} ${text.most}: ${most.data.value}.` : text.noQuotas}
      label={text.quotas}
      keyOf={(it) => it.id}
      columns={[
        { name: text.sku, cell: (it) => <span className="font-medium">{it.sku}</span> },
        {
          name: text.used,
          cell: (it) => <Meter value={it.used} most={it.gpus} label={text.of(it.used, it.gpus)} />,
        },
      ]}
    />
  );
}

function Budgets({ org }: { org: string }) {
  const may = useMay('pay');
  const queries = useQueryClient();
  const budgets = useQuery(budgetsQuery(org));
  const projects = useQuery(projectsQuery(org));
  const balance = useQuery(balanceQuery(org));
  const making = useOpened('new');
  const [asking, setAsking] = useState<Budget>();
  const [changing, setChanging] = useState<Budget>();
  const [removing, setRemoving] = useState<Budget>();
  const refresh = () => queries.invalidateQueries({ queryKey: ['budget'] });
  const projectName = (id: string) => projects.data?.find((it) => it.id === id)?.name ?? id;
  const path = (it: Budget) => ({ organization_id: org, budget_id: it.id });
  const button = may && <NewButton onClick={making.open}>{text.newBudget}</NewButton>;
  return (
    <>
      <List
        title={text.budgets}
        lead={text.budgetsLead}
        actions={button}
        query={budgets}
        empty={{
          icon: 'limits',
          title: text.emptyTitle,
          lead: text.emptyLead,
          command: text.command,
          action: button,
        }}
        label={text.budgets}
        keyOf={(it) => it.id}
        columns={[
          {
            name: common.project,
            cell: (it) => <span className="font-medium">{projectName(it.project_id)}</span>,
          },
          { name: text.period, wide: true, cell: (it) => text.periods[it.period] ?? it.period },
          { name: text.mode, wide: true, cell: (it) => (text.modes[it.mode] ?? it.mode).split(':')[0] },
          {
            name: text.thresholds,
            wide: true,
            cell: (it) => it.thresholds.map((percent) => `${percent}%`).join(', '),
          },
          {
            name: text.spent,
            cell: (it) => (
              <Meter
                value={it.spent_micros}
                most={it.amount_micros}
                label={text.ofMoney(
                  money(it.spent_micros, it.currency),
                  money(it.amount_micros, it.currency),
                )}
              />
            ),
          },
        ]}
        rowActions={(it) => (
          <span className="inline-flex flex-wrap gap-1">
            <Button small kind="quiet" onClick={() => setAsking(it)}>
              {budgetWhy.open}
            </Button>
            {may && (
              <>
                <Button small kind="quiet" onClick={() => setChanging(it)}>
                  {common.change}
                </Button>
                <Button small kind="quiet" onClick={() => setRemoving(it)}>
                  {common.delete}
                </Button>
              </>
            )}
          </span>
        )}
      />
      {making.isOpen && projects.data && balance.data && (
        <BudgetForm
          projects={projects.data}
          currency={balance.data.items[0]?.currency ?? 'USD'}
          onClose={making.close}
          onSave={async (body) => {
            const params = { path: { organization_id: org }, header: once() };
            await ask(api.POST('/v1/organizations/{organization_id}/budgets', { params, body }));
            await refresh();
          }}
        />
      )}
      {asking && (
        <BudgetWhy
          org={org}
          budget={asking}
          project={projectName(asking.project_id)}
          onClose={() => setAsking(undefined)}
        />
      )}
      {changing && (
        <BudgetForm
          projects={projects.data ?? []}
          currency={changing.currency}
          before={changing}
          onClose={() => setChanging(undefined)}
          onSave={async ({ amount_micros, mode, thresholds }) => {
            await ask(
              api.PATCH('/v1/organizations/{organization_id}/budgets/{budget_id}', {
                params: { path: path(changing), header: once() },
                body: { amount_micros, mode, thresholds },
              }),
            );
            await refresh();
          }}
        />
      )}
      {removing && (
        <Confirm
          title={text.deleteTitle}
          lead={text.deleteLead}
          name={projectName(removing.project_id)}
          action={common.delete}
          onClose={() => setRemoving(undefined)}
          onConfirm={async () => {
            await ask(
              api.DELETE('/v1/organizations/{organization_id}/budgets/{budget_id}', {
                params: { path: path(removing) },
              }),
            );
            await refresh();
          }}
        />
      )}
    </>
  );
}
