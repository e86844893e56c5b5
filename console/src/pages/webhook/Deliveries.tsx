/** What became of each event that a webhook was sent. */

import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask, once, type Schemas } from '@/api/client';
import { deliveriesQuery } from '@/api/people';
import { useMay } from '@/shell/organization';
import { common, webhooks as text } from '@/strings';
import { useAct } from '@/ui/act';
import { Badge, State } from '@/ui/Badge';
import { Button } from '@/ui/Button';
import { Facts } from '@/ui/Card';
import { Dialog } from '@/ui/Dialog';
import { List } from '@/ui/List';
import { Id, Mono, Time } from '@/ui/Values';

type Delivery = Schemas['WebhookDelivery'];

export function Deliveries({ org, webhook }: { org: string; webhook: string }) {
  const may = useMay('administer');
  const queries = useQueryClient();
  const query = useInfiniteQuery(deliveriesQuery(org, webhook));
  const { error, act } = useAct();
  const [shown, setShown] = useState<Delivery>();
  const resend = (delivery: Delivery) =>
    act(async () => {
      const path = { organization_id: org, webhook_id: webhook, delivery_id: delivery.id };
      await ask(
        api.POST(
          '/v1/organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/resend',
          {
            params: { path, header: once() },
          },
        ),
      );
      await queries.invalidateQueries({ queryKey: ['webhook_delivery'] });
    });
  return (
    <>
      <List
        title={text.deliveries}
        query={query}
        error={error}
        empty={{
          icon: 'webhook',
          title: text.deliveriesEmpty,
          lead: text.deliveriesEmptyLead,
          command: text.testCommand(webhook),
        }}
        label={text.deliveries}
        keyOf={(it) => it.id}
        columns={[
          {
            name: text.subject,
            cell: (it) => (
              <button
                type="button"
                onClick={() => setShown(it)}
                className="inline-flex items-center gap-2 text-left hover:text-accent-ink hover:underline"
              >
                <Mono>{it.subject}</Mono>
                {it.is_test && <Badge>{text.isTest}</Badge>}
              </button>
            ),
          },
          { name: common.state, cell: (it) => <State state={it.state} /> },
          { name: text.attempts, end: true, wide: true, cell: (it) => it.attempts },
          {
            name: text.answer,
            wide: true,
            cell: (it) => (
              <span className="line-clamp-2 text-soft" title={it.error ?? undefined}>
                {it.last_status ?? it.error ?? '–'}
              </span>
            ),
          },
          { name: common.created, wide: true, cell: (it) => <Time at={it.created_at} /> },
        ]}
        rowActions={(it) =>
          may &&
          it.state !== 'pending' && (
            <Button small kind="quiet" onClick={() => void resend(it)}>
              {text.resend}
            </Button>
          )
        }
      />
      {shown && <One delivery={shown} onClose={() => setShown(undefined)} />}
    </>
  );
}

function One({ delivery, onClose }: { delivery: Delivery; onClose: () => void }) {
  return (
    <Dialog title={delivery.subject} onClose={onClose}>
      <Facts
        items={[
          [common.state, <State key="state" state={delivery.state} />],
          [text.attempts, delivery.attempts],
          [text.answer, delivery.last_status ?? '–'],
          delivery.error ? [text.error, delivery.error] : null,
          delivery.next_attempt_at ? [text.next, <Time key="next" at={delivery.next_attempt_at} />] : null,
          delivery.delivered_at
            ? [text.arrived, <Time key="arrived" at={delivery.delivered_at} as="exact" />]
            : null,
          [common.created, <Time key="at" at={delivery.created_at} as="exact" />],
          [text.eventId, <Id key="event" id={delivery.event_id} />],
          [common.id, <Id key="id" id={delivery.id} />],
        ]}
      />
    </Dialog>
  );
}
