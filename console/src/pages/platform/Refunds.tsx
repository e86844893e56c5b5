import { useInfiniteQuery } from '@tanstack/react-query';
import { flat } from '@/api/lists';
import { refundsQuery } from '@/api/platform';
import { billing, common, operations } from '@/strings';
import { State } from '@/ui/Badge';
import { Dialog } from '@/ui/Dialog';
import { Answer, Empty } from '@/ui/Feedback';
import { More, Table } from '@/ui/Table';
import { Money, Mono, Time } from '@/ui/Values';

const text = operations.payments;

/** What was given back of a payment. */
export function Refunds({ payment, onClose }: { payment: string; onClose: () => void }) {
  const query = useInfiniteQuery(refundsQuery(payment));
  return (
    <Dialog title={text.refunds} lead={text.refundsLead} onClose={onClose}>
      <Answer query={{ ...query, data: flat(query.data) }}>
        {(items) =>
          items.length === 0 ? (
            <Empty
              icon="billing"
              title={text.noRefunds}
              lead={text.noRefundsLead}
              command={text.refundCommand(payment)}
            />
          ) : (
            <>
              <Table
                label={text.refunds}
                items={items}
                keyOf={(it) => it.id}
                columns={[
                  { name: common.state, cell: (it) => <State state={it.state} /> },
                  {
                    name: billing.reason,
                    cell: (it) => (
                      <>
                        {it.reason}
                        {it.last_error && (
                          <span className="block text-sm text-bad">
                            {text.lastError}: {it.last_error}
                          </span>
                        )}
                        <span className="block text-sm text-faint">
                          <Time at={it.created_at} /> {it.provider_id && <Mono>{it.provider_id}</Mono>}
                        </span>
                      </>
                    ),
                  },
                  {
                    name: common.amount,
                    end: true,
                    cell: (it) => <Money micros={it.amount_micros} currency={it.currency} />,
                  },
                ]}
              />
              <More query={query} />
            </>
          )
        }
      </Answer>
    </Dialog>
  );
}
