import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { flat } from '@/api/lists';
import { allInvoicesQuery } from '@/api/platform';
import { words } from '@/format/size';
import { common, invoices, operations } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Card } from '@/ui/Card';
import { Answer, Empty, Failure } from '@/ui/Feedback';
import { Page } from '@/ui/Page';
import { More, Table } from '@/ui/Table';
import { Money, Time } from '@/ui/Values';
import { saveAnyPdf } from './anyInvoiceFiles';
import { OrganizationName } from './OrganizationName';
import { SellerProfile } from './SellerProfile';

const text = operations.invoices;

export function AllInvoices() {
  const { organization } = useSearch({ strict: false }) as { organization?: string };
  const query = useInfiniteQuery(allInvoicesQuery(organization));
  const { error, act } = useAct();
  return (
    <Page title={text.title} lead={text.lead}>
      {error !== undefined && <Failure error={error} />}
      <Card flush>
        <Answer query={{ ...query, data: flat(query.data) }}>
          {(items) =>
            items.length === 0 ? (
              <Empty
                icon="invoice"
                title={invoices.emptyTitle}
                lead={invoices.emptyLead}
                command={text.command}
              />
            ) : (
              <>
                <Table
                  label={text.title}
                  items={items}
                  keyOf={(it) => it.id}
                  columns={[
                    {
                      name: invoices.number,
                      cell: (it) => (
                        <Link
                          to="/platform/invoices/$invoice"
                          params={{ invoice: it.id }}
                          className="font-medium whitespace-nowrap hover:text-accent-ink hover:underline"
                        >
                          {it.number}
                        </Link>
                      ),
                    },
                    {
                      name: operations.organization,
                      cell: (it) => <OrganizationName id={it.organization_id} />,
                    },
                    { name: invoices.month, wide: true, cell: (it) => it.month },
                    { name: invoices.kind, wide: true, cell: (it) => words(it.kind) },
                    {
                      name: invoices.issued,
                      wide: true,
                      cell: (it) => <Time at={it.issued_at} as="local" />,
                    },
                    {
                      name: invoices.total,
                      end: true,
                      cell: (it) => <Money micros={it.total_micros} currency={it.currency} />,
                    },
                    {
                      name: invoices.due,
                      end: true,
                      wide: true,
                      cell: (it) => <Money micros={it.due_micros} currency={it.currency} />,
                    },
                    {
                      name: common.actions,
                      quiet: true,
                      end: true,
                      cell: (it) => (
                        <Button small onClick={() => void act(() => saveAnyPdf(it))}>
                          {invoices.pdf}
                        </Button>
                      ),
                    },
                  ]}
                />
                <More query={query} />
              </>
            )
          }
        </Answer>
      </Card>
      <SellerProfile />
    </Page>
  );
}
