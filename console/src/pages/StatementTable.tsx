import type { ReactNode } from 'react';
import type { Schemas } from '@/api/client';
import { words } from '@/format/size';
import { billing as text, common } from '@/strings';
import { Below, Table } from '@/ui/Table';
import { Money, Time } from '@/ui/Values';

interface Row {
  journal: Schemas['Journal'];
  wallet: Schemas['WalletChange'];
}

interface Props {
  journals: readonly Schemas['Journal'][];
  /** What can be done to a journal. */
  rowActions?: (journal: Schemas['Journal']) => ReactNode;
}

/** Journals, with what each changed in a wallet and what was in it after that. */
export function StatementTable({ journals, rowActions }: Props) {
  return (
    <Table
      label={text.statement}
      items={journals.flatMap((journal) => journal.wallets.map((wallet) => ({ journal, wallet })))}
      keyOf={(it) => `${it.journal.id} ${it.wallet.currency}`}
      {...(rowActions ? { rowActions: (it: Row) => rowActions(it.journal) } : {})}
      columns={[
        { name: common.created, wide: true, cell: (it) => <Time at={it.journal.at} as="local" /> },
        {
          name: text.kind,
          cell: (it) => (
            <>
              {words(it.journal.kind)}
              <Below>
                <Time at={it.journal.at} />
              </Below>
            </>
          ),
        },
        { name: text.reason, wide: true, cell: (it) => it.journal.reason ?? '–' },
        {
          name: text.change,
          end: true,
          cell: (it) => (
            <>
              <Money micros={it.wallet.amount_micros} currency={it.wallet.currency} />
              <Below>
                {text.after} <Money micros={it.wallet.balance_micros} currency={it.wallet.currency} />
              </Below>
            </>
          ),
        },
        {
          name: text.balance,
          end: true,
          wide: true,
          cell: (it) => <Money micros={it.wallet.balance_micros} currency={it.wallet.currency} />,
        },
      ]}
    />
  );
}
