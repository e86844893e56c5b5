import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { invoicesQuery } from '@/api/money';
import { words } from '@/format/size';
import { useOrg } from '@/shell/organization';
import { invoices as text } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Failure } from '@/ui/Feedback';
import { List } from '@/ui/List';
import { Page } from '@/ui/Page';
import { Money, Time } from '@/ui/Values';
import { savePdf } from './invoiceFiles';

export function Invoices() {
  const org = useOrg();
  const query = useInfiniteQuery(invoicesQuery(org));
  const { error, act } = useAct();
  return (
    <Page title={text.title} lead={text.lead}>
      {error !== undefined && <Failure error={error} />}
      <List
        query={query}
        empty={{ icon: 'invoice', title: text.emptyTitle, lead: text.emptyLead, command: text.command }}
        label={text.title}
        keyOf={(it) => it.id}
        columns={[
          {
            name: text.number,
            cell: (it) => (
              <Link
                to="/o/$org/invoices/$invoice"
                params={{ org, invoice: it.id }}
                className="font-medium whitespace-nowrap hover:text-accent-ink hover:underline"
              >
                {it.number}
              </Link>
            ),
          },
          { name: text.month, cell: (it) => <span className="whitespace-nowrap">{it.month}</span> },
          { name: text.kind, wide: true, cell: (it) => words(it.kind) },
          { name: text.issued, wide: true, cell: (it) => <Time at={it.issued_at} as="local" /> },
          {
            name: text.total,
            end: true,
            cell: (it) => <Money micros={it.total_micros} currency={it.currency} />,
          },
          {
            name: text.due,
            end: true,
            wide: true,
            cell: (it) => <Money micros={it.due_micros} currency={it.currency} />,
          },
        ]}
        rowActions={(it) => (
          <Button small onClick={() => void act(() => savePdf(it))}>
            {text.pdf}
          </Button>
        )}
      />
    </Page>
  );
}
