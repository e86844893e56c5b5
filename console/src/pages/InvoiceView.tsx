import type { ReactNode } from 'react';
import type { Schemas } from '@/api/client';
import { priceUnit, quantityOf } from '@/format/units';
import { common, invoices as text } from '@/strings';
import { useAct } from '@/ui/act';
import { Button } from '@/ui/Button';
import { Card, Facts } from '@/ui/Card';
import { Failure } from '@/ui/Feedback';
import { Page } from '@/ui/Page';
import { Table } from '@/ui/Table';
import { Money, Time } from '@/ui/Values';

function Party({ party }: { party: Schemas['Party'] }) {
  return (
    <address className="not-italic">
      <span className="block font-medium">{party.legal_name}</span>
      {party.address.map((line) => (
        <span key={line} className="block text-soft">
          {line}
        </span>
      ))}
      {party.tax_id && <span className="block text-soft">{party.tax_id}</span>}
    </address>
  );
}

interface Files {
  savePdf: (invoice: Schemas['Invoice']) => Promise<void>;
  saveCsv: (invoice: Schemas['Invoice']) => Promise<void>;
}

/** An invoice as its reader sees it; members and staff fetch its files from different places. */
export function InvoiceView({
  invoice,
  above,
  files,
}: {
  invoice: Schemas['Invoice'];
  above: ReactNode;
  files: Files;
}) {
  const { busy, error, act } = useAct();
  const sum = (micros: number): ReactNode => <Money micros={micros} currency={invoice.currency} />;
  return (
    <Page
      title={invoice.number}
      above={above}
      lead={
        <>
          {invoice.month} · <Time at={invoice.issued_at} as="local" />
        </>
      }
      actions={
        <>
          <Button busy={busy} onClick={() => void act(() => files.saveCsv(invoice))}>
            {text.csv}
          </Button>
          <Button kind="primary" busy={busy} onClick={() => void act(() => files.savePdf(invoice))}>
            {text.pdf}
          </Button>
        </>
      }
    >
      {error !== undefined && <Failure error={error} />}
      <div className="grid gap-5 md:grid-cols-2">
        <Card title={text.from}>
          <Party party={invoice.seller} />
        </Card>
        <Card title={text.to}>
          <Party party={invoice.buyer} />
        </Card>
      </div>
      <Card title={text.lines} flush>
        <Table
          label={text.lines}
          items={invoice.lines}
          keyOf={(it) =>
            `${it.project_id} ${it.sku_id} ${it.tag ?? ''} ${it.unit} ${it.price_kind} ${it.price_micros}`
          }
          columns={[
            { name: common.project, cell: (it) => it.project },
            { name: 'SKU', cell: (it) => it.sku },
            { name: text.quantity, end: true, cell: quantityOf },
            {
              name: text.price,
              end: true,
              wide: true,
              cell: (it) => (
                <>
                  {sum(it.price_micros)} / {priceUnit(it)}
                </>
              ),
            },
            { name: common.amount, end: true, cell: (it) => sum(it.amount_micros) },
          ]}
        />
      </Card>
      <Card>
        <Facts
          items={[
            invoice.corrects ? [text.corrects, invoice.corrects] : null,
            [text.net, sum(invoice.net_micros)],
            [invoice.tax ? `${text.tax} (${invoice.tax.name})` : text.tax, sum(invoice.tax_micros)],
            [text.total, <strong key="total">{sum(invoice.total_micros)}</strong>],
            [text.paid, sum(invoice.paid_micros)],
            [text.due, <strong key="due">{sum(invoice.due_micros)}</strong>],
          ]}
        />
      </Card>
    </Page>
  );
}
