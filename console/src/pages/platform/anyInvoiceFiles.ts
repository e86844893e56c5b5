/** Documents of anybody, for staff; each download is recorded. */

import { api, ask } from '@/api/client';
import { save } from '@/format/csv';

interface Named {
  id: string;
  number: string;
}

const params = (invoice: Named) => ({ path: { invoice_id: invoice.id } });

export async function saveAnyPdf(invoice: Named): Promise<void> {
  const address = '/v1/platform/invoices/{invoice_id}/pdf';
  const content = await ask(api.GET(address, { params: params(invoice), parseAs: 'blob' }));
  save(`${invoice.number}.pdf`, 'application/pdf', content as unknown as Blob);
}

export async function saveAnyCsv(invoice: Named): Promise<void> {
  const address = '/v1/platform/invoices/{invoice_id}/csv';
  const content = await ask(api.GET(address, { params: params(invoice), parseAs: 'blob' }));
  save(`${invoice.number}.csv`, 'text/csv', content as unknown as Blob);
}
